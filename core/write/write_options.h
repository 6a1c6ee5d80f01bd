// What a WriteBuffer is told when it is opened, and what it counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/write/commit.h"

namespace zarrfs {

struct WriteOptions {
  std::chrono::milliseconds flush_after{
      5000};  ///< A shard that has been quiet this long is committed.
  std::chrono::milliseconds flush_max{10 * 60 *
                                      1000};  ///< So is one that has been dirty this long.
  std::uint64_t write_buffer = std::uint64_t{256}
                               << 20U;  ///< Bytes of memory for what is not committed.
  /// Bytes from which on the log begins anew where nothing needs it. Each new one costs syncs of
  /// its directories.
  std::uint64_t long_log = std::uint64_t{64} << 10U;
  /// Where more bytes of a successor than these, or more records of the log, are of writes that
  /// were superseded, and more than are not, the rest goes on in a new successor.
  std::uint64_t most_dead_bytes = std::uint64_t{16} << 20U;
  std::uint64_t most_dead_records = 16384;
  /// Successors that are open at a time; 0: a quarter of the descriptors that the process may have.
  std::size_t open_successors = 0;
  /// Whether a shard that is a file of another format as well is written to, and so no such file
  /// any more; else writing to it is kReadOnly.
  bool drop_foreign = false;
  /// Whether sync() commits as well.
  bool commit_at_sync = false;
  /// At a server: a chunk that another writer wrote since is not replaced, but kept here. Else the
  /// last one counts.
  bool hold_conflicts = false;
  /// Bytes of successors, about, from which on shards are committed before more is taken: kNoSpace
  /// where they cannot be. 0: any.
  std::uint64_t most_unpublished = 0;
  bool background = true;  ///< Commit from a thread of its own; else only when asked.
  /// Chunks that appear and disappear with a commit (see CommitHooks).
  std::function<Result<void>(const ChunkChanges&)> changed;
  /// Told about each commit, as CommitHooks::replacing and after it. `drafts`: their numbers in the
  /// shard, and when they were written.
  std::function<void(const std::string& array_path, const std::vector<std::uint64_t>& cell,
                     const FileIdentity& before, const FileIdentity& after,
                     const std::vector<std::pair<std::uint64_t, struct timespec>>& drafts)>
      replacing;
  std::function<void(const std::string& array_path, const std::vector<std::uint64_t>& cell,
                     const CommitOutcome& outcome)>
      committed;
  /// Called now and then by the background thread.
  std::function<void()> tick = [] {};
  /// One line for each event that a user should see; `error` for what failed.
  std::function<void(bool error, const std::string&)> log = [](bool, const std::string&) {};
};

/// A chunk that could not be published.
struct LeftDraft {
  std::string array_path;
  std::vector<std::uint64_t> chunk;  ///< Coordinates in array axes.
  std::string reason;
  bool whole_shard = false;  ///< `chunk` is the cell of a shard.
};

struct WriteStatistics {
  std::uint64_t puts = 0;
  std::uint64_t bytes_put = 0;
  std::uint64_t commits = 0;
  std::uint64_t failed_commits = 0;
  std::uint64_t bytes_committed = 0;  ///< Written by commits: copies and indexes.
  std::uint64_t dirty_shards = 0;
  std::uint64_t drafts = 0;
  std::uint64_t log_bytes = 0;
};

}  // namespace zarrfs
