// The files that are being written, by what they are called and by their numbers. Thread-safe;
// holds its lock for a moment only.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/lock_order.h"
#include "core/files/staged_file.h"

namespace zarrfs {

class StagedTable {
 public:
  StagedTable(std::shared_ptr<Store> store, std::uint64_t memory);

  [[nodiscard]] StagedPointer make(StagedFile::Kind kind);
  /// Bytes of all that is in memory.
  [[nodiscard]] std::uint64_t bytes() const { return budget_->used; }
  [[nodiscard]] StagedPointer find(const std::string& key) const;
  /// The same where it is a temporary file.
  [[nodiscard]] StagedPointer find_temporary(const std::string& key) const;
  [[nodiscard]] StagedPointer find(std::uint64_t number) const;
  /// Whether a temporary file other than `file` and the one at `key` is put into the store at
  /// `path`: see stored_path().
  [[nodiscard]] bool keeps_at(const std::string& path, const std::string& key,
                              const StagedFile* file) const;
  /// Temporary files at or below `directory`, as programs see it.
  [[nodiscard]] std::vector<StagedPointer> temporaries_below(const std::string& directory) const;
  /// For a program that opens a temporary file which was renamed or removed since it was looked up:
  /// a file of the same number without a name. Null where no file of this number has left lately,
  /// or the store has it.
  [[nodiscard]] StagedPointer nameless(std::uint64_t number) const;
  /// What stands under `key`, or is going to.
  [[nodiscard]] StagedPointer find_coming(const std::string& key) const;
  /// Enters it under `key` where nothing stands or is going to; returns what does then.
  StagedPointer enter_new(const std::string& key, const StagedPointer& file);
  /// Enters it under `key`, which is reserved for it and where nothing stands, as what it is from
  /// now on. The caller holds its mutex.
  void enter(const std::string& key, const StagedPointer& file, StagedFile::Kind kind,
             const std::string& directory);

  /// While it lives nobody else's file is entered under a key.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(StagedTable& table, std::string key) : table_(&table), key_(std::move(key)) {}
    Reservation(Reservation&& other) noexcept
        : table_(std::exchange(other.table_, nullptr)), key_(std::move(other.key_)) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation() {
      if (table_ != nullptr) table_->release(key_);
    }
    explicit operator bool() const { return table_ != nullptr; }

   private:
    StagedTable* table_ = nullptr;
    std::string key_;
  };
  /// Reserves `key` for `coming`, whose mutex the caller holds until the reservation has gone: who
  /// opens the key waits for it. Not where something else than `there` stands, or is going to.
  Reservation reserve(const std::string& key, const StagedPointer& coming,
                      const StagedPointer& there);

  /// The directory `from`, at or below which it stands, is called `to` now. The caller holds its
  /// mutex.
  void moved(const StagedPointer& file, const std::string& from, const std::string& to);
  /// Takes `file` out, wherever it stands. The caller holds its mutex.
  void leave(const StagedPointer& file);
  /// Names of temporary files, or documents, directly in the directory that programs call `path`.
  [[nodiscard]] std::vector<std::string> names_in(const std::string& path,
                                                  StagedFile::Kind kind) const;
  /// Of the chunks of the array at `path`, the numbers that chunk_key has.
  [[nodiscard]] std::vector<std::uint64_t> chunks_of(const std::string& path) const;
  /// All that stand at or below a path of the store.
  [[nodiscard]] std::vector<StagedPointer> below(const std::string& path) const;
  [[nodiscard]] bool empty() const { return count_.load() == 0; }

 private:
  [[nodiscard]] StagedPointer coming_at(const std::string& key) const;
  void release(const std::string& key);
  void count();

  std::shared_ptr<Store> store_;
  std::shared_ptr<StagedBudget> budget_;
  std::atomic<std::uint64_t> last_{0};
  std::atomic<std::size_t> count_{0};
  mutable TableMutex mutex_;
  std::unordered_map<std::string, StagedPointer> by_key_;
  std::unordered_map<std::string, StagedPointer> coming_;  ///< Reserved for these.
  std::unordered_map<std::uint64_t, std::string> keys_;
  struct Left {
    std::uint64_t number = 0;
    bool renamed = false;  ///< Else it was removed.
  };
  std::deque<Left> left_;  ///< Temporary files, the latest last.
};

/// Where the temporary file at `path` of the node at `directory` is put in the store, which has no
/// directories of chunks: `c/0/name` as `c.0.name`.
std::string stored_path(const std::string& directory, const std::string& path);

/// The key of a chunk that is being written: one, by whatever name the chunk is reached.
/// `number`: that array.shown.names has.
std::string chunk_key(const NodeState& array, std::uint64_t number);

}  // namespace zarrfs
