#include "core/store/http/body_room.h"

#include <mutex>
#include <utility>

namespace zarrfs {

/// The caller holds the lock.
bool BodyRoom::fits(std::uint64_t bytes) const {
  return bytes == 0 || used_ == 0 || (used_ < most_ && bytes <= most_ - used_);
}

/// The caller holds the lock.
BodyRoom::Held BodyRoom::new_hold(std::uint64_t bytes) {
  Held held(new Hold(shared_from_this(), bytes));
  used_ += bytes;
  return held;
}

BodyRoom::Held BodyRoom::try_take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return fits(bytes) ? new_hold(bytes) : nullptr;
}

BodyRoom::Held BodyRoom::take(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return fits(bytes); });
  return new_hold(bytes);
}

bool BodyRoom::grow(const Held& held, std::uint64_t bytes) {
  std::uint64_t beyond = 0;
  {
    const std::lock_guard lock(mutex_);
    if (bytes <= held->bytes_) return true;
    const std::uint64_t more = bytes - held->bytes_;
    if (largest_ != held.get() && used_ < most_ && more <= most_ - used_) {
      used_ += more;
      held->bytes_ = bytes;
      return true;
    }
    if (largest_ != nullptr && largest_ != held.get()) return false;
    largest_ = held.get();
    if (more <= beyond_bytes_) return true;
    beyond = beyond_bytes_ = more;
  }
  tell_beyond(beyond);
  return true;
}

void BodyRoom::release(const Hold& hold) {
  bool was_largest = false;
  {
    const std::lock_guard lock(mutex_);
    used_ -= hold.bytes_;
    was_largest = largest_ == &hold;
    if (was_largest) {
      largest_ = nullptr;
      beyond_bytes_ = 0;
    }
    if (when_freed_) when_freed_();
  }
  if (was_largest) tell_beyond(0);
  freed_.notify_all();
}

void BodyRoom::when_freed(std::function<void()> act) {
  const std::lock_guard lock(mutex_);
  when_freed_ = std::move(act);
}

std::uint64_t BodyRoom::bytes() const {
  const std::lock_guard lock(mutex_);
  return used_ + beyond_bytes_;
}

}  // namespace zarrfs
