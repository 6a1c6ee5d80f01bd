#include "core/names/removed_chunks.h"

#include <algorithm>

namespace zarrfs {

namespace {
constexpr std::size_t kMost = 256;
constexpr std::chrono::seconds kShort{10};  // who makes it anew does so at once
}  // namespace

void RemovedChunks::add(pid_t task, const std::string& key) {
  if (task == 0) return;
  const std::lock_guard lock(mutex_);
  removed_.push_back({task, key, std::chrono::steady_clock::now()});
  if (removed_.size() > kMost) removed_.pop_front();
}

void RemovedChunks::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::erase_if(removed_, [&](const Removed& one) { return one.key == key; });
}

bool RemovedChunks::has(pid_t task, const std::string& key) const {
  const auto oldest = std::chrono::steady_clock::now() - kShort;
  const std::lock_guard lock(mutex_);
  return std::any_of(removed_.begin(), removed_.end(), [&](const Removed& one) {
    return one.task == task && one.since >= oldest && one.key == key;
  });
}

}  // namespace zarrfs
