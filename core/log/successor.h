// A shard with unpublished writes: its successor file (the next shard file under construction,
// hidden beside it) and what has been written into it so far.
//
// Two locks: `commit_mutex` is held by whoever appends or publishes (I/O happens under it, of this
// shard only); `state_mutex` guards the small state that readers look at, and is never held across
// I/O.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/lock_order.h"
#include "core/base/thread_safety.h"
#include "core/log/names_in_use.h"
#include "core/store/store.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

using Clock = std::chrono::steady_clock;

/// The latest write of one chunk that is not published yet.
struct Draft {
  bool removed = false;
  bool quarantined = false;    ///< Cannot be a chunk of the array; readable, never published.
  bool held = false;           ///< Another writer's is in the shard: readable, not published.
  ByteRange range{};           ///< In the successor file.
  std::uint32_t checksum = 0;  ///< CRC-32C of the bytes.
  std::uint64_t sequence = 0;  ///< Of its first record in a log.
  std::uint64_t logged = 0;    ///< Of its last one: of the same bytes, in another successor.
  /// Where several writers share the store: the shard's last generation when it was written.
  std::uint64_t seen = 0;
  struct timespec written {};  ///< Wall clock time, for st_mtime.
  /// `written` as microseconds since 1970.
  [[nodiscard]] std::uint64_t moment() const {
    return static_cast<std::uint64_t>(written.tv_sec) * 1'000'000U +
           static_cast<std::uint64_t>(written.tv_nsec) / 1'000U;
  }
  void set_moment(std::uint64_t moment) {
    written.tv_sec = static_cast<time_t>(moment / 1'000'000U);
    written.tv_nsec = static_cast<long>(moment % 1'000'000U * 1'000U);
  }
  /// Not for a commit to publish.
  [[nodiscard]] bool kept_back() const { return quarantined || held; }
};

/// A successor as readers see it. It grows while it is open, so its size says nothing; a range that
/// was written stays.
class GrowingFile final : public File {
 public:
  GrowingFile(std::shared_ptr<const NewFile> file, const struct stat& status);
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }

 private:
  std::shared_ptr<const NewFile> file_;
  struct stat status_;
};

/// Prefix of the names of successor files; views never show a name that begins so.
inline constexpr const char* kSuccessorPrefix = ".zarrfs-next-";

/// Prefix of the other names that shards have while several writers share the store; views never
/// show these either.
inline constexpr const char* kKeptPrefix = ".zarrfs-kept-";

/// The path of a new successor beside `shard_path`: 128 random bits.
std::string new_successor_path(const std::string& shard_path);

/// Whether `name` (one path component) is one of ours.
bool is_successor_name(std::string_view name);

/// How far a dirty shard has come. Each stage follows the one before it; kClosed may follow any.
enum class ShardStage {
  kNew,        ///< Nothing was written.
  kLogged,     ///< The log names its successor, of which there is no file: only removals.
  kAppending,  ///< The successor's file is there, and chunks are appended to it.
  kRenamed,    ///< The successor has taken the shard's name, which is not known to be durable.
  kClosed,     ///< Published, dropped or carried on in another successor: look the shard up again.
};

struct DirtyShard {
  // Fixed before others see it.
  std::string array_path;
  std::vector<std::uint64_t> cell;
  std::string shard_path;
  std::uint32_t form = 0;  ///< Of the array as its chunks were written: ArrayMetadata::form.
  std::string successor_path;
  NameInUse successor_name;  ///< Its last part.
  /// What tells its writes from all others at a server: the random part of the name of its
  /// successor, or of the one that it goes on from.
  std::string writer_id;
  std::uint64_t expected = 0;  ///< Chunks of the shard that hold an element of the array.

  RankedMutex<LockRank::kShard> commit_mutex;
  ShardStage stage ZARRFS_GUARDED_BY(commit_mutex) = ShardStage::kNew;
  /// The sequence of its kOpen record; 0 while kNew.
  std::uint64_t id ZARRFS_GUARDED_BY(commit_mutex) = 0;
  /// While kAppending; null where it was closed for a while.
  std::shared_ptr<NewFile> file ZARRFS_GUARDED_BY(commit_mutex);
  /// Where the next chunk goes.
  std::uint64_t end ZARRFS_GUARDED_BY(commit_mutex) = 0;
  /// Of the shard's file when its first chunk was written.
  std::uint64_t base_bytes ZARRFS_GUARDED_BY(commit_mutex) = 0;
  /// The successor's directory has been synced.
  bool name_durable ZARRFS_GUARDED_BY(commit_mutex) = false;
  /// A sync of the successor failed: its pages may be lost though they still read well. It never
  /// becomes the shard.
  bool sync_failed ZARRFS_GUARDED_BY(commit_mutex) = false;
  /// At a server: digest of the version that was shown when the first chunk was written; 0: none.
  std::optional<std::uint64_t> based_on ZARRFS_GUARDED_BY(commit_mutex);
  /// Not carried on in a new successor before, after a failure.
  Clock::time_point renew_at ZARRFS_GUARDED_BY(commit_mutex);
  /// The shard's index cannot be read.
  bool base_damaged ZARRFS_GUARDED_BY(commit_mutex) = false;
  /// The server did not answer when the first chunk was written: what stands there is not known.
  bool base_unknown ZARRFS_GUARDED_BY(commit_mutex) = false;
  /// Commits that failed in a row.
  int failures ZARRFS_GUARDED_BY(commit_mutex) = 0;

  mutable RankedMutex<LockRank::kDrafts> state_mutex;
  // Changed under both mutexes, so read under either:
  std::shared_ptr<ArrayReader> array;  ///< As of the last write.
  std::shared_ptr<const File> reader;  ///< The successor; null where it is not open.

  std::map<std::uint64_t, Draft> drafts ZARRFS_GUARDED_BY(state_mutex);
  /// Drafts that are kept back, and others that remove a chunk.
  std::uint64_t kept_back ZARRFS_GUARDED_BY(state_mutex) = 0;
  std::uint64_t removed ZARRFS_GUARDED_BY(state_mutex) = 0;
  /// In the successor: of drafts, and of drafts that were written again.
  std::uint64_t live_bytes ZARRFS_GUARDED_BY(state_mutex) = 0;
  std::uint64_t dead_bytes ZARRFS_GUARDED_BY(state_mutex) = 0;
  /// In the log, of drafts that were written again.
  std::uint64_t dead_records ZARRFS_GUARDED_BY(state_mutex) = 0;
  /// Bytes were appended since the last sync.
  bool unsynced ZARRFS_GUARDED_BY(state_mutex) = false;
  Clock::time_point dirty_since ZARRFS_GUARDED_BY(state_mutex);
  Clock::time_point changed ZARRFS_GUARDED_BY(state_mutex);
  /// Not committed before, after a failure.
  Clock::time_point retry_at ZARRFS_GUARDED_BY(state_mutex);
  /// Of the last commit.
  std::optional<Error> failure ZARRFS_GUARDED_BY(state_mutex);

  /// Before others see it.
  void set_successor(std::string path);
  /// The caller holds commit_mutex.
  void set_array(std::shared_ptr<ArrayReader> latest) ZARRFS_REQUIRES(commit_mutex);
  /// Notes the latest write of chunk `number`. The caller holds state_mutex.
  void set_draft(std::uint64_t number, const Draft& draft) ZARRFS_REQUIRES(state_mutex);
  /// Forgets what is published. The caller holds state_mutex.
  void erase_draft(std::uint64_t number) ZARRFS_REQUIRES(state_mutex);
  /// Chunks are appended to `successor` and read from it. The caller holds commit_mutex.
  Result<void> attach(std::shared_ptr<NewFile> successor) ZARRFS_REQUIRES(commit_mutex);
  /// Closes the successor's file for a while. The caller holds commit_mutex.
  void detach() ZARRFS_REQUIRES(commit_mutex);
  /// Whether each chunk of it was written: nothing has to be copied.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] bool has_drafts() const;
};

/// Whether the storage, or its owner's quota, is full.
bool lacks_room(const Error& error);

/// Opens the successor again where its file was closed. kStale where it is gone: its array was
/// moved or removed by another program. The caller holds its commit_mutex.
Result<void> open_successor(Store& store, DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);

/// Makes what the successor holds durable, and its name. The caller holds its commit_mutex.
Result<void> sync_successor(Store& store, DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);

}  // namespace zarrfs
