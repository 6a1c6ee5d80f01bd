// A thread that does something now and then, or when it is woken, until it is stopped.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "core/base/lock_order.h"

namespace zarrfs {

class CommitThread {
 public:
  CommitThread() = default;
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;
  ~CommitThread() { stop(); }

  void start(std::chrono::milliseconds pause, std::function<void()> act);
  void wake() { wake_.notify_one(); }
  void stop();

 private:
  TableMutex mutex_;
  RankedCondition wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace zarrfs
