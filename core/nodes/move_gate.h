// Puts and moves exclude each other: a chunk that is put while its array is moved or removed either
// is in what is moved, or fails and is not acknowledged.
//
// A thread never asks twice; core/base/lock_order.h checks that, and where its lock stands in the
// order. Thread-safe.
#pragma once

#include <mutex>
#include <shared_mutex>

#include "core/base/lock_order.h"

namespace zarrfs {

class MoveGate {
  using Mutex = Ranked<std::shared_mutex, LockRank::kMove>;

 public:
  using Putting = std::shared_lock<Mutex>;
  using Moving = std::unique_lock<Mutex>;

  /// For who finds an array and writes to it: no node is moved or removed while this lives.
  [[nodiscard]] Putting putting() {
    const std::lock_guard turn(turnstile_);
    return Putting(mutex_);
  }
  /// For who moves or removes a node. Who comes later waits, so that it gets its turn.
  [[nodiscard]] Moving moving() {
    const std::lock_guard turn(turnstile_);
    return Moving(mutex_);
  }

 private:
  RankedMutex<LockRank::kMoveTurn> turnstile_;
  Mutex mutex_;
};

}  // namespace zarrfs
