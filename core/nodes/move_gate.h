// Puts and moves exclude each other: a chunk that is put while its array is moved or removed either
// is in what is moved, or fails and is not acknowledged.
//
// Order of locks: CreationGate, then MoveGate, then the mutex of a work, then those of the
// MetadataEditor and of the WriteBuffer. A thread never asks twice. Thread-safe.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace zarrfs {

class MoveGate {
 public:
  using Putting = std::shared_lock<std::shared_mutex>;
  using Moving = std::unique_lock<std::shared_mutex>;

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
  std::mutex turnstile_;
  std::shared_mutex mutex_;
};

}  // namespace zarrfs
