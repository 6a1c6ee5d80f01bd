#include "core/vfs/second_looks.h"

#include <algorithm>

#include "core/base/request.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMost = 64;  // each may keep a file open; who comes too late is told kStale
constexpr int kRounds = 8;

bool is_stale(const auto& result) { return !result && result.error().fault == Fault::kStale; }
}  // namespace

Result<std::optional<InodeEntry>> SecondLooks::find(NodeId parent, std::string_view name) {
  const pid_t task = count_ == 0 ? 0 : request_task();
  return is_expected(task) ? find_and_open(task, parent, name) : names_.find(parent, name);
}

Result<std::optional<InodeEntry>> SecondLooks::find_and_open(pid_t task, NodeId parent,
                                                             std::string_view name) {
  for (int round = 1;; ++round) {
    ZARRFS_TRY(const auto found, names_.find(parent, name));
    if (!found || !S_ISREG(found->status.st_mode)) return found;
    auto file = opening_.open_file(found->id);
    if (file) keep({task, found->id, std::move(*file), parent, std::string(name)});
    if (!is_stale(file) || round == kRounds) return found;
    parts_.table.forget(found->id, 1);
  }
}

Result<std::shared_ptr<OpenFile>> SecondLooks::open_file(NodeId node) {
  const pid_t task = request_task();
  if (auto look = take(task, node)) return std::move(look->file);
  auto opened = opening_.open_file(node);
  if (is_stale(opened)) expect(task);
  return opened;
}

Result<std::shared_ptr<OpenFile>> SecondLooks::open_for_writing(NodeId node, int flags) {
  const pid_t task = request_task();
  const auto look = take(task, node);
  auto opened = opening_.open_for_writing(
      node, flags, look ? Opening::Replaced::kIsOpened : Opening::Replaced::kIsStale);
  for (int round = 1; look && is_stale(opened) && round < kRounds; ++round) {
    ZARRFS_TRY(const auto found, names_.find(look->parent, look->name));
    if (!found) break;
    opened = opening_.open_for_writing(found->id, flags);
    parts_.table.forget(found->id, 1);
  }
  if (is_stale(opened)) expect(task);
  return opened;
}

/// The caller holds the mutex.
std::deque<SecondLooks::Look>::iterator SecondLooks::of(pid_t task) {
  return std::find_if(looks_.begin(), looks_.end(),
                      [task](const Look& look) { return look.task == task; });
}

void SecondLooks::expect(pid_t task) {
  if (task == 0) return;
  const std::lock_guard lock(mutex_);
  looks_.push_back({task, 0, nullptr, 0, ""});
  if (looks_.size() > kMost) looks_.pop_front();
  count_ = looks_.size();
}

bool SecondLooks::is_expected(pid_t task) {
  if (task == 0) return false;
  const std::lock_guard lock(mutex_);
  return of(task) != looks_.end();
}

void SecondLooks::keep(Look kept) {
  const std::lock_guard lock(mutex_);
  const auto look = of(kept.task);
  if (look != looks_.end()) *look = std::move(kept);
}

std::optional<SecondLooks::Look> SecondLooks::take(pid_t task, NodeId node) {
  if (count_ == 0 || task == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = of(task);
  if (found == looks_.end()) return std::nullopt;
  std::optional<Look> look;
  if (found->node == node && found->file != nullptr) look = std::move(*found);
  looks_.erase(found);
  count_ = looks_.size();
  return look;
}

}  // namespace zarrfs
