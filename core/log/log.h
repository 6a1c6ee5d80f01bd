// The log of unpublished writes: `.zarrfs/log` in the store. It holds no chunk bytes: each record
// says where, in a successor file, the bytes of a chunk lie. Format and crash argument: JOURNAL.md
// in this folder.
//
// LogWriter is thread-safe; reading happens before any writer exists.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

inline constexpr const char* kLogDirectory = ".zarrfs";
inline constexpr const char* kLogPath = ".zarrfs/log";
/// Why a file was synced in vain: behind its name.
inline constexpr const char* kWasRemoved =
    ": another program has removed it, and what was written to it goes with it";
/// Beside the log: arrays of which chunks wait that were written before them (orphan_chunks.h).
inline constexpr const char* kEarlyPath = ".zarrfs/early";

/// One line of the log.
struct LogRecord {
  enum class Kind : std::uint8_t {
    kOpen = 1,     ///< A successor was made: `array_path`, `cell`, `successor_path`.
    kPut = 2,      ///< Chunk `number` lies at `range` of the successor.
    kRemove = 3,   ///< Chunk `number` is gone.
    kPublish = 4,  ///< The successor is complete and about to take the shard's name.
    kDone = 5,     ///< Nothing of this successor is needed any more.
  };
  Kind kind = Kind::kPut;
  std::uint64_t sequence = 0;   ///< Grows from record to record.
  std::uint64_t successor = 0;  ///< Which successor: the sequence of its kOpen record.
  std::uint64_t number = 0;     ///< C-order number of the chunk in its shard.
  ByteRange range{};
  std::uint32_t checksum = 0;  ///< CRC-32C of the chunk's bytes; of kOpen: the array's form.
  bool quarantined = false;    ///< The bytes cannot be a chunk of the array: never published.
  bool held = false;           ///< Another writer's is in the shard: not published.
  std::string array_path{};
  /// Of kOpen; of kPut and kRemove, where several writers share the store, two numbers: the last
  /// generation of the shard when the chunk was written, and when that was: see Draft::moment.
  std::vector<std::uint64_t> cell{};
  std::string successor_path{};
};

/// What a log says. Records in order; `torn_bytes` at the end were never made durable and are
/// ignored.
struct LogContents {
  std::vector<LogRecord> records;
  std::uint64_t bytes = 0;  ///< Of all records.
  std::uint64_t torn_bytes = 0;
};

/// What a log says of one successor.
struct LoggedSuccessor {
  LogRecord open;
  std::map<std::uint64_t, std::vector<LogRecord>> writes;  ///< By chunk number; oldest first.
  bool publishing = false;
  bool done = false;
};

/// Reads the log of `store`; nothing where there is none. kDamaged where records that had been
/// durable are broken, kUnsupported where a newer zarrfs wrote it.
Result<std::optional<LogContents>> read_log(Store& store, const std::string& node = "");

class LogWriter {
 public:
  /// Writes on behind what `earlier` holds, or a new log where there is none: then nothing is made
  /// in the store before the first append.
  static Result<std::unique_ptr<LogWriter>> open(std::shared_ptr<Store> store,
                                                 const std::optional<LogContents>& earlier);

  /// Appends one record, giving it its sequence number. It survives the death of this process when
  /// this returns.
  Result<std::uint64_t> append(LogRecord record);
  /// Appends a record that nobody waits for. Where there is no room for it now, it stands in front
  /// of the next one: what is logged later never counts for less than what it takes back.
  void append_in_time(LogRecord record);
  /// Makes all records that were appended before the call durable. After a failure the next call
  /// writes them into a new file.
  Result<void> sync();
  /// The file is not what anybody reads any more, though it could be written: all records are
  /// written anew, and durable when it returns.
  Result<void> renew();
  /// Whether more records are of successors that are done than of others.
  [[nodiscard]] bool mostly_done() const;
  /// Writes the records of successors that are not done into a new file, which takes the log's
  /// name.
  Result<void> shorten();
  /// Forgets all records: for when none is needed any more.
  Result<void> clear();
  /// Removes the log's file.
  Result<void> remove();
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  explicit LogWriter(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  Result<void> sync_once();
  Result<void> create_locked() ZARRFS_REQUIRES(mutex_);
  Result<std::uint64_t> append_locked(LogRecord record) ZARRFS_REQUIRES(mutex_);
  Result<void> append_owed_locked() ZARRFS_REQUIRES(mutex_);
  Result<LogContents> contents_locked() ZARRFS_REQUIRES(mutex_);
  Result<void> replace_locked(const std::vector<LogRecord>& records) ZARRFS_REQUIRES(mutex_);
  void count(const LogRecord& record) ZARRFS_REQUIRES(mutex_);
  Result<void> reserve_locked(std::uint64_t size) ZARRFS_REQUIRES(mutex_);

  std::shared_ptr<Store> store_;
  mutable RankedMutex<LockRank::kLog> mutex_;
  std::shared_ptr<NewFile> file_ ZARRFS_GUARDED_BY(mutex_);
  std::uint64_t next_sequence_ ZARRFS_GUARDED_BY(mutex_) = 1;
  std::uint64_t size_ ZARRFS_GUARDED_BY(mutex_) = 0;
  /// Size of the file: zeros stand behind the records.
  std::uint64_t reserved_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t durable_size_ ZARRFS_GUARDED_BY(mutex_) = 0;
  bool directory_durable_ ZARRFS_GUARDED_BY(mutex_) = false;
  /// The file may have lost records: see fsync(2).
  bool sync_failed_ ZARRFS_GUARDED_BY(mutex_) = false;
  /// Of successors that are not done.
  std::map<std::uint64_t, std::uint64_t> records_of_ ZARRFS_GUARDED_BY(mutex_);
  std::uint64_t live_records_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t dead_records_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::vector<LogRecord> owed_ ZARRFS_GUARDED_BY(mutex_);  ///< See append_in_time.
};

/// Whether several writers share the store, or did until they were killed: see SHARED.md.
Result<bool> is_shared(Store& store);

/// Whether an earlier writer left writes in the store's log, or in that of its node `node`, which
/// was written as a store of its own. kBusy if several write it.
Result<bool> has_unpublished(Store& store, const std::string& node = "");

}  // namespace zarrfs
