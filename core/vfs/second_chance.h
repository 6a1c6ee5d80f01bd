// A chunk that is replaced between a program's lookup and its open: the first time the kernel is
// told to look again (ESTALE), and it does so once. Who loses that race twice would be told ESTALE
// by open(2), and some readers take that for a missing chunk. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace zarrfs {

class SecondChance {
 public:
  /// The chunk with this inode number was not the one that was looked up; whether that happened a
  /// moment ago, too.
  bool missed(std::uint64_t inode) {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    if (missed_.size() >= kMostRemembered) missed_.clear();
    const auto [at, is_new] = missed_.try_emplace(inode, now);
    const bool again = !is_new && now - at->second < kMoment;
    at->second = now;
    return again;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kMoment{1};
  static constexpr std::size_t kMostRemembered = 1024;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Clock::time_point> missed_;
};

}  // namespace zarrfs
