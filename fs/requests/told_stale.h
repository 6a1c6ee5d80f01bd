// Which threads of programs were told lately that a node is stale. The kernel looks the name up
// again then, and asks for the attributes of what it finds, once: where that is replaced meanwhile
// as well, and the kernel was told to ask, stat(2) would fail with ESTALE. Between the two it may
// take seconds to find what has the name, as `.zmetadata` of thousands of arrays. Thread-safe.
// Source: vfs_statx of Linux, retry_estale.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>

#include "core/base/lock_order.h"

namespace zarrfs {

class ToldStale {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLately{30};

  /// Whether `task` was told lately; if so it is forgotten, if not it is told now. 0 never was.
  bool was_told(pid_t task, Clock::time_point now = Clock::now()) {
    if (task == 0) return false;
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(told_.begin(), told_.end(),
                                    [task](const Told& one) { return one.task == task; });
    if (known != told_.end()) {
      const bool lately = now < known->when + kLately;
      *known = lately ? Told() : Told{task, now};
      return lately;
    }
    told_.at(next_) = {task, now};
    next_ = (next_ + 1) % told_.size();
    return false;
  }

 private:
  struct Told {
    pid_t task = 0;
    Clock::time_point when;
  };
  TableMutex mutex_;
  std::array<Told, 64> told_{};  ///< Guarded by mutex_.
  std::size_t next_ = 0;         ///< What is told next takes this place; guarded by mutex_.
};

}  // namespace zarrfs
