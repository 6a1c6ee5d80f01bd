#include "core/write/commit_thread.h"

#include <utility>

namespace zarrfs {

void CommitThread::start(std::chrono::milliseconds pause, std::function<void()> act) {
  thread_ = std::thread([this, pause, act = std::move(act)] {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      wake_.wait_for(lock, pause);
      if (stopping_) continue;
      lock.unlock();
      act();
      lock.lock();
    }
  });
}

void CommitThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace zarrfs
