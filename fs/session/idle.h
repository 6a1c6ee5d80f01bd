// When a mount has been left alone for so long that it unmounts itself. One thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace zarrfs {

class IdleWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// `limit` 0: never idle.
  IdleWatch(std::chrono::duration<double> limit, Clock::time_point now)
      : limit_(limit), since_(now) {}

  /// Milliseconds after which look() has something to say, at least 1; -1: never.
  [[nodiscard]] int pause() const;
  /// Whether `requests`, a number that only grows, has stood still for the limit. If so, the next
  /// time begins now: what is open may keep the mount.
  bool look(std::uint64_t requests, Clock::time_point now);

 private:
  std::chrono::duration<double> limit_;
  Clock::time_point since_;
  std::uint64_t requests_ = 0;
};

}  // namespace zarrfs
