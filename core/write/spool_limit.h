// How much may be written and not committed (WriteOptions::most_unpublished). Thread-safe.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "core/base/lock_order.h"
#include "core/write/committer.h"
#include "core/write/successor_files.h"
#include "core/write/write_parts.h"

namespace zarrfs {

class SpoolLimit {
 public:
  SpoolLimit(WriteParts& parts, SuccessorFiles& files, Committer& committer)
      : parts_(parts), files_(files), committer_(committer) {}

  /// Bytes that are being written: they count while this lives, and then as drafts.
  class Admitted {
   public:
    Admitted() = default;
    Admitted(SpoolLimit& limit, std::uint64_t bytes) : limit_(&limit), bytes_(bytes) {}
    Admitted(Admitted&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr)), bytes_(other.bytes_) {}
    Admitted& operator=(Admitted&&) = delete;
    ~Admitted() {
      if (limit_ != nullptr) limit_->written(bytes_);
    }

   private:
    SpoolLimit* limit_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  /// Before another `bytes` are written: commits shards, the oldest first, where they would be too
  /// many. kNoSpace where that does not make room. The caller holds no commit_mutex.
  Result<Admitted> admit(std::uint64_t bytes);

 private:
  /// What an attempt to make room has come to.
  enum class Round { kTaken, kFreed, kNothing };

  [[nodiscard]] std::uint64_t used() const;
  [[nodiscard]] std::vector<DirtyPointer> oldest_first() const;
  bool take(std::uint64_t bytes);
  void written(std::uint64_t bytes);
  Result<void> make_room(std::uint64_t bytes);
  bool server_is_away();
  Round commit_some(std::uint64_t bytes, std::string& why);
  Round drop_waste(std::uint64_t bytes, std::string& why);
  std::uint64_t puts();
  bool others_have_written(std::uint64_t before);

  WriteParts& parts_;
  SuccessorFiles& files_;
  Committer& committer_;
  std::atomic<Clock::time_point> next_call_{Clock::time_point()};  ///< Of the server.
  RankedMutex<LockRank::kSpool> mutex_;
  RankedCondition written_;
  std::uint64_t coming_ ZARRFS_GUARDED_BY(mutex_) = 0;  ///< Admitted, and being written.
  std::uint64_t puts_ ZARRFS_GUARDED_BY(mutex_) = 0;    ///< Those that were written, or failed.
  /// Not less than used(), which takes longer, and coming_ together.
  std::uint64_t at_most_ ZARRFS_GUARDED_BY(mutex_) = ~std::uint64_t{0};
};

}  // namespace zarrfs
