#include "fs/requests/waiting_room.h"

#include <cerrno>
#include <new>
#include <utility>

#include "fs/requests/interrupts.h"

namespace zarrfs {

namespace {
constexpr std::chrono::milliseconds kBetweenAttempts{5};
}  // namespace

void WaitingRoom::wait(Reply reply, Attempt attempt) {
  if (may_wait_()) {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      arrived_.push_back({std::move(reply), std::move(attempt), Clock::now() + patience_});
      if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
      changed_.notify_one();
      return;
    }
  }
  static_cast<void>(attempt(reply, true));
}

void WaitingRoom::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool WaitingRoom::is_answered(Waiting& one, bool last) {
  try {
    if (one.attempt(one.reply, last) == Outcome::kAnswered) return true;
  } catch (const std::bad_alloc&) {
    one.reply.error(ENOMEM);
    return true;
  }
  if (last) return true;  // its Reply says EIO
  if (!is_interrupted(one.reply.request())) return false;
  one.reply.error(EINTR);
  return true;
}

void WaitingRoom::serve() {
  std::list<Waiting> waiting;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, kBetweenAttempts, [this] { return closed_; });
    waiting.splice(waiting.end(), arrived_);
    const bool last = closed_;
    lock.unlock();
    const auto now = Clock::now();
    waiting.remove_if([&](Waiting& one) { return is_answered(one, last || now >= one.until); });
    lock.lock();
    if (last && arrived_.empty()) return;
    if (waiting.empty()) changed_.wait(lock, [this] { return closed_ || !arrived_.empty(); });
  }
}

}  // namespace zarrfs
