// The parts of a store that say where its chunks are, as far as they were used last: manifests of
// Icechunk, references in Parquet. Thread-safe: of several threads that want one, one reads it, and
// no lock is held meanwhile.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/lock_order.h"
#include "core/base/request.h"
#include "core/base/result.h"

namespace zarrfs {

/// `Part` tells its bytes of memory by memory().
template <class Part>
class PartCache {
 public:
  using Pointer = std::shared_ptr<const Part>;
  using Read = std::function<Result<Pointer>(const std::string& name)>;
  /// Keeps at most `most` bytes, but always the newest one.
  PartCache(std::size_t most, Read read) : most_(most), read_(std::move(read)) {}

  Result<Pointer> get(const std::string& name) {
    ZARRFS_TRY(Pointer found, find_or_begin(name));
    if (found != nullptr) return found;
    Result<Pointer> made = read_(name);
    keep(name, made ? *made : nullptr);
    return made;
  }
  /// Null where it is not in memory.
  Pointer find(const std::string& name) {
    const HeldLock lock(mutex_);
    return find_locked(name);
  }
  [[nodiscard]] std::size_t bytes() {
    const HeldLock lock(mutex_);
    return bytes_;
  }

 private:
  Pointer find_locked(const std::string& name) ZARRFS_REQUIRES(mutex_) {
    const auto found = std::find_if(newest_first_.begin(), newest_first_.end(),
                                    [&](const auto& kept) { return kept.first == name; });
    if (found == newest_first_.end()) return nullptr;
    newest_first_.splice(newest_first_.begin(), newest_first_, found);
    return found->second;
  }

  /// Null once this thread is the one to read it.
  Result<Pointer> find_or_begin(const std::string& name) {
    constexpr auto kLook = std::chrono::milliseconds(100);
    HeldLock lock(mutex_);
    while (true) {
      if (Pointer found = find_locked(name)) return found;
      if (reading_.insert(name).second) return nullptr;
      ZARRFS_CHECK(check_wanted());
      done_.wait_for(lock, kLook);
    }
  }

  void keep(const std::string& name, Pointer part) {
    std::list<std::pair<std::string, Pointer>> let_go_after_unlock;
    const HeldLock lock(mutex_);
    reading_.erase(name);
    done_.notify_all();
    if (part == nullptr) return;
    bytes_ += part->memory();
    newest_first_.emplace_front(name, std::move(part));
    while (bytes_ > most_ && newest_first_.size() > 1) {
      bytes_ -= newest_first_.back().second->memory();
      let_go_after_unlock.splice(let_go_after_unlock.begin(), newest_first_,
                                 std::prev(newest_first_.end()));
    }
  }

  const std::size_t most_;
  const Read read_;
  TableMutex mutex_;
  RankedCondition done_;
  std::list<std::pair<std::string, Pointer>> newest_first_ ZARRFS_GUARDED_BY(mutex_);
  std::set<std::string> reading_ ZARRFS_GUARDED_BY(mutex_);
  std::size_t bytes_ ZARRFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace zarrfs
