// Whether objects are put in parts at a server: found out when it is wanted first. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/base/lock_order.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {

class PartsUse {
 public:
  using Say = std::function<void(const std::string& line)>;
  /// `say`: what is told where the server does not do it. Before the first use.
  void begin(Say say) { say_ = std::move(say); }
  /// Asks the server where it is not known.
  bool usable(RemoteObjects& objects);
  /// The server has refused: never again.
  void refuse(const Error& error);

 private:
  using Clock = std::chrono::steady_clock;
  void refuse_locked(const Error& error) ZARRFS_REQUIRES(mutex_);

  Say say_ = [](const std::string&) {};
  RankedMutex<LockRank::kStore> mutex_;
  std::optional<bool> usable_ ZARRFS_GUARDED_BY(mutex_);
  Clock::time_point try_again_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
