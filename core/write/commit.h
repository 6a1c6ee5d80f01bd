// Publishing a shard: from its drafts and the present shard file to the next one. The order of
// steps is what makes it safe; JOURNAL.md has the argument.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/log/successor.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// What a commit changes, for keeping attributes that list chunks true.
struct ChunkChanges {
  std::string array_path;
  std::vector<std::vector<std::uint64_t>> added;  ///< Chunk coordinates in array axes.
  std::vector<std::vector<std::uint64_t>> removed;
};

/// What a commit tells its surroundings.
struct CommitHooks {
  /// Just before the shard's name moves or goes; what takes its place is complete and durable.
  /// `successor_moves`: that is the successor itself. Else the successor stays for a while, and
  /// what the log says of it must be durable: or a power cut could bring back an older write.
  std::function<Result<void>(bool successor_moves)> before_publish = [](bool) {
    return Result<void>{};
  };
  /// After that: the shard `before` becomes `after` (zeros: there is none), and readers may see
  /// either until commit_shard returns. May be empty.
  std::function<void(const FileIdentity& before, const FileIdentity& after)> replacing;
  /// Chunks of which another writer's bytes were replaced by ours, which it wrote since the first
  /// of ours was; not `certain` where that can only be guessed. May be empty.
  std::function<void(const std::vector<std::uint64_t>& numbers, bool certain)> overwritten;
  /// Makes drafts of such chunks held, also where it can only be guessed; the other writer's bytes
  /// are not replaced then. Empty: they are.
  std::function<Result<void>(const std::vector<std::uint64_t>& numbers)> hold;
  /// Of a writer that is dead: drafts of chunks that others have put since each was written are
  /// not put, and this is told of them. Empty: they are, as of a writer that lives.
  std::function<void(const std::vector<std::uint64_t>& numbers)> overtaken;
  /// Called with additions before the name moves, with removals after. May be empty.
  std::function<Result<void>(const ChunkChanges&)> changed;
};

struct CommitOutcome {
  FileIdentity before;              ///< Of the shard that was replaced; zeros where there was none.
  FileIdentity after;               ///< Of the new shard; zeros where the shard was deleted.
  std::uint64_t bytes_written = 0;  ///< Bytes copied or added by this commit.
  bool again = false;               ///< Another program had replaced the shard meanwhile.
  bool cloned = false;              ///< It shares the blocks of the shard before.
  std::vector<std::uint64_t> published;  ///< Numbers of the drafts that are now in the shard.
  std::uint64_t put = 0;  ///< Of these, those that were not in it before, where notes tell.
};

/// Publishes all drafts of `shard` that are neither quarantined nor held. The caller holds
/// shard.commit_mutex. On an error nothing has changed for readers, and the drafts are all still
/// there.
Result<CommitOutcome> commit_shard(Store& store, DirtyShard& shard, const CommitHooks& hooks)
    ZARRFS_REQUIRES(shard.commit_mutex);

/// Bytes at the front of a successor of `array` that are kept free for an index at the start.
Result<std::uint64_t> reserved_at_start(const ArrayReader& array,
                                        std::span<const std::uint64_t> cell);

}  // namespace zarrfs
