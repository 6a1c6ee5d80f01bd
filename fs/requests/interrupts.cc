#include "fs/requests/interrupts.h"

#include <chrono>

#include "core/base/pending_signals.h"

namespace zarrfs {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

/// The program that this thread has looked at last, which was not to end.
struct Look {
  pid_t task = 0;
  std::chrono::steady_clock::time_point at;
};

}  // namespace

bool is_interrupted(fuse_req_t request) {
  if (fuse_req_interrupted(request) == 0) return false;
  thread_local Look last;
  const pid_t task = fuse_req_ctx(request)->pid;
  const auto now = std::chrono::steady_clock::now();
  if (task == last.task && task != 0 && now < last.at + kBetweenLooks) return false;
  if (is_told_to_end(task)) return true;
  last = {task, now};
  return false;
}

}  // namespace zarrfs
