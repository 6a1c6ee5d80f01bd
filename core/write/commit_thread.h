// A thread that does something now and then, or when it is woken, until it is stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

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
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace zarrfs
