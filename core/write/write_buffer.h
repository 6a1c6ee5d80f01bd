// Writes to chunks, kept safe at once and published shard by shard. The only way by which zarrfs
// changes shards.
//
// A chunk that was put survives the death of the process when `put` returns, and a power cut when
// `sync` returns. Readers outside see it when its shard is committed: they see the old shard or the
// new one, never a mixture. Life of a write: put -> appended to the shard's successor -> noted in
// the log -> (commit) unchanged chunks copied behind, index, sync, rename, directory sync -> done.
// See JOURNAL.md.
//
// Thread-safe. Writers of one shard wait for each other, readers for nobody.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/write/commit_thread.h"
#include "core/write/committer.h"
#include "core/write/draft_writer.h"
#include "core/write/others_logs.h"
#include "core/write/recovery.h"
#include "core/write/spool_limit.h"
#include "core/write/successor_files.h"
#include "core/write/write_options.h"
#include "core/write/write_parts.h"

namespace zarrfs {

/// An unpublished chunk as readers see it.
struct FoundDraft {
  Draft draft;
  std::shared_ptr<const File> file;  ///< Holds draft.range; null where the chunk is removed.
};

class WriteBuffer {
 public:
  /// Becomes the store's one writer, or one of those that share it (SharedStore): kBusy, naming the
  /// holder, where there is another. Takes over what an earlier writer left in the log: it is
  /// published, or kept and retried.
  static Result<std::unique_ptr<WriteBuffer>> open(std::shared_ptr<Store> store,
                                                   WriteOptions options);

  ~WriteBuffer();
  WriteBuffer(const WriteBuffer&) = delete;
  WriteBuffer& operator=(const WriteBuffer&) = delete;

  using Cell = DirtyTable::Cell;

  /// The stored bytes of chunk `number` (C order, all levels) of the shard at `cell`.
  /// `quarantined`: they cannot be a chunk of the array; they are kept and readable, but not
  /// published. `shown`: see DraftWriter::Shown.
  Result<void> put(
      const ArrayPointer& array, const Cell& cell, std::uint64_t number, ByteView bytes,
      bool quarantined = false, const DraftWriter::Shown& shown = [] {});
  Result<void> remove(
      const ArrayPointer& array, const Cell& cell, std::uint64_t number,
      const DraftWriter::Shown& shown = [] {});

  // Drafts of an array that another program has replaced since are not found.

  /// kStale where there is a draft, and its bytes are gone: another program has moved or removed
  /// the array.
  Result<std::optional<FoundDraft>> find(const ArrayReader& array, const ChunkPlace& place) const;
  /// All drafts of a shard by number; empty where it is clean.
  std::map<std::uint64_t, Draft> drafts(const ArrayReader& array, const Cell& cell) const;
  /// Cells of an array that have drafts, in C order.
  std::vector<Cell> dirty_cells(const ArrayReader& array) const;
  [[nodiscard]] bool clean() const { return parts_.table.clean(); }

  /// Makes the latest write of chunk `number` durable. An error also where it cannot be a chunk,
  /// is held, or where the last commit failed and has not been made good.
  Result<void> sync(const std::string& shard_path, std::uint64_t number);
  /// Makes all writes to arrays at or below `prefix` durable ("" for all). The first error, also of
  /// a commit that failed and has not been made good; not of bytes that cannot be a chunk.
  Result<void> sync_below(const std::string& prefix);

  Result<void> commit(const std::string& shard_path);
  /// Commits the shard. kBusy where chunk `number` is held, which another writer has written.
  Result<void> publish(const std::string& shard_path, std::uint64_t number);
  /// Commits the shards of one array or of all arrays below `prefix` ("" for all). The first error,
  /// after all were tried, or of a chunk that is held.
  Result<void> commit_below(const std::string& prefix);
  /// Commits what is due at `now`. What the background thread does.
  void commit_due(Clock::time_point now);
  /// Where several writers share the store: puts what those have left that seem to be dead. What
  /// the background thread does now and then.
  Result<void> look_at_others() { return others_.look(); }
  /// Drops all drafts of arrays at or below `path`: the array itself is being removed.
  Result<void> drop_below(const std::string& path);

  /// Chunks that could not be published; not those whose time has not come.
  std::vector<LeftDraft> left() const;
  WriteStatistics statistics() const;
  /// About how many bytes of memory the drafts take.
  [[nodiscard]] std::uint64_t memory() const;

  /// Commits everything, and removes the log where nothing is left. Afterwards only `left` may be
  /// called.
  Result<void> close();

 private:
  WriteBuffer(std::shared_ptr<Store> store, WriteOptions options)
      : parts_(std::move(store), std::move(options)) {}
  Result<void> take_over();
  Result<void> put_now(const DirtyPointer& shard, const ArrayPointer& array, std::uint64_t number,
                       ByteView bytes, bool quarantined, const DraftWriter::Shown& shown)
      ZARRFS_REQUIRES(shard->commit_mutex);
  Result<void> check_held(const std::string& prefix) const;
  [[nodiscard]] bool at_server() const;
  Result<void> told_of(const DirtyShard& shard) const ZARRFS_REQUIRES(shard.state_mutex);
  std::string why_unreachable() const;
  void tick();

  WriteParts parts_;
  SuccessorFiles files_{parts_};
  DraftWriter drafts_{parts_, files_};
  Committer committer_{parts_, files_, drafts_};
  Recovery recovery_{parts_, files_, drafts_, committer_};
  SpoolLimit spool_limit_{parts_, files_, committer_};
  OthersLogs others_{parts_};
  CommitThread thread_;  ///< The last member: it ends before the others do.
};

}  // namespace zarrfs
