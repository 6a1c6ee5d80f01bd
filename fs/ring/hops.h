// Which threads of programs change their processor with each answer. Linux wakes a thread on a
// processor that is idle, rather than on the one that answers it. So a thread that asks for one
// thing after the other hops to and fro, and each time an idle processor has to wake, which takes
// longer than all the rest (in a virtual machine some 20 us). Where the processor that it would hop
// to is busy for a few answers, it stays, and mostly goes on to: its turn is not over when it waits
// then, so it is not placed anew.
//
// Thread-safe. Of the threads that share a place only the latest is known.
// Source: select_idle_sibling and DELAY_DEQUEUE of Linux 6.18, kernel/sched/fair.c.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace zarrfs {

class Hops {
 public:
  static constexpr unsigned kFirst = 2;    ///< So many hops, one after the other, are a habit.
  static constexpr unsigned kMost = 4096;  ///< Where it did not help, twice as many the next time.
  static constexpr unsigned kSteady = 12;  ///< So many answers without a hop: it helped.

  /// A request of `task` came by the queue of a processor. Whether that processor should be busy
  /// for a while when it has answered. `task`: 0 where it is not known.
  bool came(pid_t task, unsigned queue) {
    if (task == 0) return false;
    Place& place = places_.at(static_cast<std::size_t>(task) % places_.size());
    const bool known = exchange(place.task, task) == task;
    const bool stayed = exchange(place.queue, queue) == queue;
    if (!known) {
      exchange(place.hops, 0U);
      exchange(place.wanted, kFirst);
      return false;
    }
    return stayed ? stays(place) : hops(place);
  }

 private:
  /// On a cache line of its own: a thread has one request at a time, mostly.
  struct alignas(64) Place {
    std::atomic<pid_t> task{0};
    std::atomic<unsigned> queue{0};  ///< By which its last request came.
    std::atomic<unsigned> hops{0};   ///< One after the other.
    std::atomic<unsigned> stays{0};  ///< One after the other.
    std::atomic<unsigned> wanted{kFirst};
  };

  template <class T>
  static T exchange(std::atomic<T>& value, T now) {
    const T before = value.load(std::memory_order_relaxed);
    if (before != now) value.store(now, std::memory_order_relaxed);
    return before;
  }
  static unsigned next(const std::atomic<unsigned>& count) {
    return count.load(std::memory_order_relaxed) + 1;
  }

  static bool stays(Place& place) {
    exchange(place.hops, 0U);
    if (place.wanted.load(std::memory_order_relaxed) == kFirst) return false;
    const unsigned stays = next(place.stays);
    exchange(place.stays, stays);
    if (stays >= kSteady) exchange(place.wanted, kFirst);
    return false;
  }

  static bool hops(Place& place) {
    exchange(place.stays, 0U);
    const unsigned hops = next(place.hops);
    const unsigned wanted = place.wanted.load(std::memory_order_relaxed);
    exchange(place.hops, hops < wanted ? hops : 0U);
    if (hops < wanted) return false;
    exchange(place.wanted, std::min(2 * wanted, kMost));
    return true;
  }

  std::array<Place, 64> places_;
};

}  // namespace zarrfs
