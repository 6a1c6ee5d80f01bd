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

  /// A request of `task` came by the queue of a processor. Whether that processor should be busy
  /// for a while when it has answered; was_busy() is to be told then, and before that no other
  /// processor should. `task`: 0 where it is not known.
  bool came(pid_t task, unsigned queue) {
    if (task == 0) return false;
    Place& place = place_of(task);
    const bool known = exchange(place.task, task) == task;
    const bool stayed = exchange(place.queue, queue) == queue;
    if (!known) exchange(place.wanted, kFirst);
    if (!known || stayed) {
      exchange(place.hops, 0U);
      return false;
    }
    const unsigned hops = place.hops.load(kAnyOrder) + 1;
    exchange(place.hops, hops);
    return hops % place.wanted.load(kAnyOrder) == 0 && !place.busy.exchange(true, kAnyOrder);
  }

  /// The processor was. It helped where `task` stayed from the next answer on.
  void was_busy(pid_t task) {
    Place& place = place_of(task);
    place.busy.store(false, kAnyOrder);
    if (place.task.load(kAnyOrder) != task) return;
    const unsigned wanted = place.wanted.load(kAnyOrder);
    const bool helped = place.hops.load(kAnyOrder) == 0;
    exchange(place.wanted, helped ? kFirst : std::min(2 * wanted, kMost));
  }

 private:
  static constexpr auto kAnyOrder = std::memory_order_relaxed;

  /// On a cache line of its own: a thread has one request at a time, mostly.
  struct alignas(64) Place {
    std::atomic<pid_t> task{0};
    std::atomic<unsigned> queue{0};  ///< Its last request came by this one.
    std::atomic<unsigned> hops{0};   ///< One after the other.
    std::atomic<unsigned> wanted{kFirst};
    std::atomic<bool> busy{false};  ///< A processor is kept busy for this task.
  };

  Place& place_of(pid_t task) {
    return places_.at(static_cast<std::size_t>(task) % places_.size());
  }

  template <class T>
  static T exchange(std::atomic<T>& value, T now) {
    const T before = value.load(kAnyOrder);
    if (before != now) value.store(now, kAnyOrder);
    return before;
  }

  std::array<Place, 64> places_;
};

}  // namespace zarrfs
