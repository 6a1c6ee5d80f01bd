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

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <set>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "core/base/fd.h"
#include "core/write/commit.h"
#include "core/write/lock.h"
#include "core/write/log.h"
#include "core/write/reserve.h"
#include "core/write/successor.h"

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
  bool background = true;  ///< Commit from a thread of its own; else only when asked.
  /// Chunks that appear and disappear with a commit (see CommitHooks).
  std::function<Result<void>(const ChunkChanges&)> changed;
  /// Told about each commit, as CommitHooks::replacing and after it.
  std::function<void(const std::string& array_path, const std::vector<std::uint64_t>& cell,
                     const FileIdentity& before, const FileIdentity& after)>
      replacing;
  std::function<void(const std::string& array_path, const std::vector<std::uint64_t>& cell,
                     const CommitOutcome& outcome)>
      committed;
  /// Called now and then by the background thread.
  std::function<void()> tick = [] {};
  /// One line for each event that a user should see; `error` for what failed.
  std::function<void(bool error, const std::string&)> log = [](bool, const std::string&) {};
};

/// An unpublished chunk as readers see it.
struct FoundDraft {
  Draft draft;
  std::shared_ptr<const File> file;  ///< Holds draft.range; null where the chunk is removed.
};

/// A chunk that could not be published.
struct LeftDraft {
  std::string array_path;
  std::vector<std::uint64_t> chunk;  ///< Coordinates in array axes.
  std::string reason;
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

class WriteBuffer {
 public:
  /// Becomes the store's one writer: kBusy, naming the holder, where there is another. Takes over
  /// what an earlier writer left in the log: it is published, or kept and retried.
  static Result<std::unique_ptr<WriteBuffer>> open(std::shared_ptr<Store> store,
                                                   WriteOptions options);
  ~WriteBuffer();

  using ArrayPointer = std::shared_ptr<ArrayReader>;
  using Cell = std::vector<std::uint64_t>;

  /// The stored bytes of chunk `number` (C order, all levels) of the shard at `cell`.
  /// `quarantined`: they cannot be a chunk of the array; they are kept and readable, but not
  /// published.
  Result<void> put(const ArrayPointer& array, const Cell& cell, std::uint64_t number,
                   ByteView bytes, bool quarantined = false);
  Result<void> remove(const ArrayPointer& array, const Cell& cell, std::uint64_t number);

  // Drafts of an array that another program has replaced since are not found.

  /// kStale where there is a draft, and its bytes are gone: another program has moved or removed
  /// the array.
  Result<std::optional<FoundDraft>> find(const ArrayReader& array, const Cell& cell,
                                         std::uint64_t number) const;
  /// All drafts of a shard by number; empty where it is clean.
  std::map<std::uint64_t, Draft> drafts(const ArrayReader& array, const Cell& cell) const;
  /// Cells of an array that have drafts, in C order.
  std::vector<Cell> dirty_cells(const ArrayReader& array) const;
  [[nodiscard]] bool clean() const { return dirty_count_.load() == 0; }

  /// Makes the latest write of chunk `number` durable. An error also where it cannot be a chunk, or
  /// where the last commit failed and has not been made good.
  Result<void> sync(const std::string& shard_path, std::uint64_t number);
  /// Makes all writes to arrays at or below `prefix` durable ("" for all). The first error, also of
  /// a commit that failed and has not been made good; not of bytes that cannot be a chunk.
  Result<void> sync_below(const std::string& prefix);

  Result<void> commit(const std::string& shard_path);
  /// Commits the shards of one array or of all arrays below `prefix` ("" for all). The first error,
  /// after all were tried.
  Result<void> commit_below(const std::string& prefix);
  /// Commits what is due at `now`. What the background thread does.
  void commit_due(Clock::time_point now);
  /// Drops all drafts of arrays at or below `path`: the array itself is being removed.
  Result<void> drop_below(const std::string& path);

  /// Chunks that could not be published; not those whose time has not come.
  std::vector<LeftDraft> left() const;
  WriteStatistics statistics() const;

  /// Commits everything, and removes the log where nothing is left. Afterwards only `left` may be
  /// called.
  Result<void> close();

 private:
  using Pointer = std::shared_ptr<DirtyShard>;
  WriteBuffer(std::shared_ptr<Store> store, WriteOptions options);

  // Recovery (recovery.cc).
  /// What an earlier writer left of one shard that cannot be taken over, because of its array.
  struct Parked {
    LoggedSuccessor logged;
    std::string reason;
  };
  struct Recovery;
  Result<void> take_over();
  void recover(const LoggedSuccessor& logged, Recovery& recovery);
  Result<void> take_up(const ArrayPointer& array, const LoggedSuccessor& logged,
                       Recovery& recovery);
  Result<void> resume(const Pointer& shard, const LoggedSuccessor& logged,
                      std::shared_ptr<NewFile> successor, Recovery& recovery);
  Result<void> put_again(const Pointer& shard, const LoggedSuccessor& logged,
                         const std::shared_ptr<NewFile>& successor, Recovery& recovery);
  void dispose(const LoggedSuccessor& logged);
  Result<void> take_up_parked(const ArrayPointer& array, const Cell& cell);
  std::vector<Parked> take_parked(const std::function<bool(const LogRecord& open)>& wanted);
  void park(const LoggedSuccessor& logged, const std::string& reason);
  void remove_strays(const std::set<std::string>& directories);

  static Pointer new_shard(const ArrayPointer& array, const Cell& cell);
  Result<Pointer> dirty_shard(const ArrayPointer& array, const Cell& cell);
  Result<void> check_base(DirtyShard& shard, std::uint64_t number, bool removal);
  static void remove_unlogged(DirtyShard& shard, std::uint64_t number);
  static std::vector<std::uint64_t> unlogged(const DirtyShard& shard);

  // Writing one draft. The caller holds the shard's commit_mutex.
  Result<void> begin(DirtyShard& shard);
  Result<void> begin_appending(DirtyShard& shard);
  Result<void> hold_room(const DirtyShard& shard, std::uint64_t bytes);
  Result<void> write_draft(DirtyShard& shard, std::uint64_t number, const ByteView* bytes,
                           bool quarantined);
  Result<void> put_now(const Pointer& shard, const ArrayPointer& array, std::uint64_t number,
                       ByteView bytes, bool quarantined);
  void limit_waste(const Pointer& shard);
  Result<void> make_way(const Error& error);
  Result<void> abandon(const Pointer& shard, Error error);

  // Descriptors.
  Result<void> open_file_of(DirtyShard& shard);
  void close_some(const DirtyShard* but, std::size_t enough);
  void close_unused(DirtyShard& shard);

  // Committing (write_commits.cc).
  Result<void> commit_pointer(const Pointer& shard);
  Result<CommitOutcome> commit_with(DirtyShard& shard, const CommitHooks& hooks);
  CommitHooks hooks_of(const Pointer& shard);
  tl::unexpected<Error> report_failure(DirtyShard& shard, const Error& error);
  Result<void> carry_on(const Pointer& shard, const std::map<std::uint64_t, Draft>& drafts);
  Result<void> copy_drafts(const DirtyShard& from, const std::map<std::uint64_t, Draft>& drafts,
                           DirtyShard& to);
  Result<void> finish(const Pointer& shard, const CommitOutcome& outcome);
  Result<void> retire(DirtyShard& shard);
  Result<void> sync_pointer(DirtyShard& shard);
  Pointer find_pointer(const std::string& shard_path) const;
  Pointer find_pointer(const ArrayReader& array, const Cell& cell) const;
  Result<void> tidy_log();
  Result<void> clear_log();
  Result<void> drop(const Pointer& shard);
  std::vector<Pointer> pointers_below(const std::string& prefix) const;
  bool due(const DirtyShard& shard, Clock::time_point now) const;
  static bool complete(const DirtyShard& shard);
  void forget(const Pointer& shard);
  void run_background();

  std::shared_ptr<Store> store_;
  WriteOptions options_;
  StoreLock lock_;
  std::unique_ptr<LogWriter> log_;
  Reserve reserve_;
  /// Shared by who appends drafts, alone by a commit that uses the reserve.
  std::shared_mutex room_mutex_;
  std::atomic<bool> has_clones_{false};  ///< A commit shared the blocks of a shard.

  std::size_t most_open_ = 0;
  std::atomic<std::size_t> open_{0};  ///< Successors that are open.
  std::mutex spare_mutex_;
  std::vector<Fd> spare_;  ///< Descriptors kept for commits.

  mutable std::shared_mutex map_mutex_;
  std::unordered_map<std::string, Pointer> shards_;
  std::atomic<std::uint64_t> dirty_count_{0};

  mutable std::mutex parked_mutex_;
  std::vector<Parked> parked_;
  std::atomic<std::size_t> parked_count_{0};

  mutable std::mutex statistics_mutex_;
  WriteStatistics statistics_;

  std::mutex background_mutex_;
  std::condition_variable background_wake_;
  bool stopping_ = false;
  std::thread background_;
};

/// Whether an earlier writer left writes in the store's log.
Result<bool> has_unpublished(Store& store);

}  // namespace zarrfs
