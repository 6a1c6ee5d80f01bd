#include "core/vfs/second_looks.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/request.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMost = 64;  // each may keep a file open; who comes too late is told kStale
constexpr int kRounds = 64;        // a document that is written all the time is another one at each
constexpr std::chrono::seconds kOld{30};  // the kernel opens at once what it has looked up again

bool is_stale(const auto& result) { return !result && result.error().fault == Fault::kStale; }
}  // namespace

Result<std::optional<InodeEntry>> SecondLooks::find(NodeId parent, std::string_view name) {
  const auto wanted = count_ == 0 ? std::nullopt : expected(request_task());
  if (!wanted) return names_.find(parent, name);
  // The kernel opens at once what it has looked up again: who looks up another name does not.
  const bool looked = !wanted->name.empty();
  if (looked && (wanted->parent != parent || wanted->name != name)) {
    end(wanted->task);
    return names_.find(parent, name);
  }
  return find_and_open(*wanted, parent, name);
}

Result<std::optional<InodeEntry>> SecondLooks::find_and_open(const Look& wanted, NodeId parent,
                                                             std::string_view name) {
  const Want& want = wanted.want;
  for (int round = 0; round < kRounds; ++round) {
    auto opened = want.writes ? opening_.find_and_open_to_write(parent, name, want.flags)
                              : opening_.find_and_open(parent, name);
    if (is_stale(opened)) continue;
    if (!opened) break;  // opening what is found tells
    if (!*opened) {
      const bool again = !wanted.name.empty();
      if (again) {
        end(wanted.task);
      } else {
        keep({wanted.task, want, 0, nullptr, parent, std::string(name), wanted.since});
      }
      return std::nullopt;
    }
    auto& [found, file] = **opened;
    if (file != nullptr) {
      keep({wanted.task, want, found.id, std::move(file), parent, std::string(name), wanted.since});
    }
    return found;
  }
  return names_.find(parent, name);
}

Result<std::shared_ptr<OpenFile>> SecondLooks::open_file(NodeId node) {
  return open(node, {.writes = false, .flags = O_RDONLY}, O_RDONLY);
}

Result<std::shared_ptr<OpenFile>> SecondLooks::open_for_writing(NodeId node, int flags) {
  const bool only_empties = (flags & O_ACCMODE) == O_RDONLY;
  const int kept = (flags & ~O_TRUNC) | (only_empties ? O_WRONLY : 0);
  return open(node, {.writes = true, .flags = kept}, flags);
}

Result<std::shared_ptr<OpenFile>> SecondLooks::open(NodeId node, const Want& want, int flags) {
  const pid_t task = request_task();
  const auto look = take(task);
  const bool looked_again = look && look->node == node && look->want == want;
  if (!looked_again) {
    if (look) drop(*look);
    auto opened = want.writes ? opening_.open_for_writing(node, flags) : opening_.open_file(node);
    if (is_stale(opened)) expect(task, want);
    return opened;
  }
  const auto emptied = (flags & O_TRUNC) != 0 ? look->file->resize(0) : Result<void>{};
  if (emptied) return look->file;
  drop(*look);
  return fail(emptied.error());
}

/// The caller holds the mutex.
std::deque<SecondLooks::Look>::iterator SecondLooks::of(pid_t task) {
  return std::find_if(looks_.begin(), looks_.end(),
                      [task](const Look& look) { return look.task == task; });
}

void SecondLooks::end(pid_t task) {
  if (const auto look = take(task)) drop(*look);
}

void SecondLooks::drop(const Look& look) {
  if (look.file != nullptr) look.file->closed();
}

void SecondLooks::expect(pid_t task, const Want& want) {
  if (task == 0) return;
  Look dropped;
  {
    const std::lock_guard lock(mutex_);
    looks_.push_back({task, want, 0, nullptr, 0, "", std::chrono::steady_clock::now()});
    if (looks_.size() > kMost) {
      dropped = std::move(looks_.front());
      looks_.pop_front();
    }
    count_ = looks_.size();
  }
  drop(dropped);
}

std::optional<SecondLooks::Look> SecondLooks::expected(pid_t task) {
  if (task == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto look = of(task);
  return look == looks_.end() ? std::nullopt : std::optional<Look>(*look);
}

void SecondLooks::keep(Look kept) {
  {
    const std::lock_guard lock(mutex_);
    const auto look = of(kept.task);
    if (look != looks_.end()) std::swap(*look, kept);
  }
  drop(kept);  // what it had looked up before, or this where it is expected no more
}

std::optional<SecondLooks::Look> SecondLooks::take(pid_t task) {
  if (count_ == 0 || task == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = of(task);
  if (found == looks_.end()) return std::nullopt;
  Look look = std::move(*found);
  looks_.erase(found);
  count_ = looks_.size();
  return look;
}

void SecondLooks::drop_old() {
  if (count_ == 0) return;
  std::vector<Look> old;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto is_old = [now](const Look& look) { return now - look.since > kOld; };
    std::copy_if(looks_.begin(), looks_.end(), std::back_inserter(old), is_old);
    std::erase_if(looks_, is_old);
    count_ = looks_.size();
  }
  std::for_each(old.begin(), old.end(), drop);
}

}  // namespace zarrfs
