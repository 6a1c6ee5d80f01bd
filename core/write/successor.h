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
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/store/store.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

using Clock = std::chrono::steady_clock;

/// The latest write of one chunk that is not published yet.
struct Draft {
  bool removed = false;
  bool held = false;           ///< Cannot be a chunk of the array; readable, never published.
  ByteRange range{};           ///< In the successor file.
  std::uint32_t checksum = 0;  ///< CRC-32C of the bytes.
  std::uint64_t sequence = 0;  ///< Of its record in the log.
  struct timespec written {};  ///< Wall clock time, for st_mtime.
};

/// A successor opened for reading. It grows while it is open, so its size says nothing; a range
/// that was written stays.
class GrowingFile final : public File {
 public:
  explicit GrowingFile(std::shared_ptr<const File> file);
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }

 private:
  std::shared_ptr<const File> file_;
  struct stat status_;
};

/// Prefix of the names of successor files; views never show a name that begins so.
inline constexpr const char* kSuccessorPrefix = ".zarrfs-next-";

/// The path of a new successor beside `shard_path`: 128 random bits.
std::string new_successor_path(const std::string& shard_path);

/// Whether `name` (one path component) is one of ours.
bool is_successor_name(std::string_view name);

struct DirtyShard {
  // Fixed once made.
  std::string array_path;
  std::vector<std::uint64_t> cell;
  std::string shard_path;
  std::uint32_t form = 0;  ///< Of the array as its chunks were written: ArrayMetadata::form.
  std::uint64_t id = 0;    ///< The sequence of its kOpen record.
  std::string successor_path;

  std::mutex commit_mutex;
  std::shared_ptr<ArrayReader> array;  ///< The array as of the last write. Under commit_mutex.
  std::unique_ptr<NewFile> file;       ///< Null once published. Under commit_mutex.
  std::uint64_t end = 0;               ///< Where the next chunk goes. Under commit_mutex.
  bool name_durable = false;  ///< The successor's directory has been synced. Under commit_mutex.
  /// A sync of the successor failed: its pages may be lost though they still read well. It never
  /// becomes the shard. Under commit_mutex.
  bool sync_failed = false;
  bool base_damaged = false;  ///< The shard's index cannot be read. Under commit_mutex.
  bool closed = false;  ///< Published or dropped: look the shard up again. Under commit_mutex.
  int failures = 0;     ///< Commits that failed in a row. Under commit_mutex.
  std::uint64_t expected =
      0;  ///< Chunks of the shard that hold an element of the array. Under commit_mutex.

  mutable std::mutex state_mutex;
  std::map<std::uint64_t, Draft> drafts;
  std::shared_ptr<const File> reader;  ///< The successor, opened for reading.
  std::uint64_t held = 0;              ///< Drafts that are held.
  std::uint64_t removed = 0;           ///< Drafts that remove a chunk.
  std::uint64_t dead_bytes = 0;        ///< In the successor, of drafts that were written again.
  bool unsynced = false;               ///< Bytes were appended since the last sync.
  Clock::time_point dirty_since;
  Clock::time_point changed;
  Clock::time_point retry_at;    ///< Not committed before, after a failure.
  std::optional<Error> failure;  ///< Of the last commit.

  /// Notes the latest write of chunk `number`. The caller holds state_mutex.
  void set_draft(std::uint64_t number, const Draft& draft);
  /// Forgets what is published. The caller holds state_mutex.
  void erase_draft(std::uint64_t number);
};

/// Makes what the successor holds durable, and its name. The caller holds its commit_mutex.
Result<void> sync_successor(Store& store, DirtyShard& shard);

}  // namespace zarrfs
