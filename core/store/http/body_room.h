// The memory that bodies of answers take, from their first byte until who asked has done with them:
// bounded for all requests of a store together. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/lock_order.h"

namespace zarrfs {

class BodyRoom : public std::enable_shared_from_this<BodyRoom> {
 public:
  /// What one body takes; given back when the last owner lets it go.
  class Hold;
  using Held = std::shared_ptr<Hold>;

  explicit BodyRoom(std::uint64_t most) : most_(most) {}

  /// Null where there is no room now; of no bytes there always is. Where all is free, more than
  /// there is is given, too.
  Held try_take(std::uint64_t bytes);
  /// Waits for it. Only for who holds nothing.
  Held take(std::uint64_t bytes);
  /// Makes `held` one of `bytes`, or more; false where there is no room now. One body at a time
  /// may go beyond the bound: see when_beyond(). So those that wait come to an end one by one.
  bool grow(const Held& held, std::uint64_t bytes);

  /// `act` is told how much the one body takes beyond the bound, each time that changes, and makes
  /// room for it elsewhere. Set before the first request.
  void when_beyond(std::function<void(std::uint64_t bytes)> act) { beyond_ = std::move(act); }
  /// `act` is called, by any thread, when room has become free. It must not wait.
  void when_freed(std::function<void()> act);

  [[nodiscard]] std::uint64_t most() const { return most_; }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  void release(const Hold& hold);
  [[nodiscard]] bool fits(std::uint64_t bytes) const;
  Held new_hold(std::uint64_t bytes);
  void tell_beyond(std::uint64_t bytes) const {
    if (beyond_) beyond_(bytes);
  }

  const std::uint64_t most_;
  mutable TableMutex mutex_;
  RankedCondition freed_;
  std::uint64_t used_ = 0;            // guarded by mutex_
  const Hold* largest_ = nullptr;     // that goes beyond the bound; guarded by mutex_
  std::uint64_t beyond_bytes_ = 0;    // guarded by mutex_
  std::function<void()> when_freed_;  // guarded by mutex_
  std::function<void(std::uint64_t)> beyond_;
};

class BodyRoom::Hold {
 public:
  ~Hold() { room_->release(*this); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  friend class BodyRoom;
  Hold(std::shared_ptr<BodyRoom> room, std::uint64_t bytes)
      : room_(std::move(room)), bytes_(bytes) {}
  const std::shared_ptr<BodyRoom> room_;
  std::uint64_t bytes_;  // of the room; guarded by its mutex
};

}  // namespace zarrfs
