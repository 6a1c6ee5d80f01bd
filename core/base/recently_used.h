// The things used last, by key: at most so many, the one unused for longest is let go first.
// Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/base/lock_order.h"

namespace zarrfs {

/// `Pointer` is a shared pointer: what is let go may still be in use elsewhere.
template <class Key, class Pointer>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(most) {}

  /// Null where `key` is not kept.
  Pointer find(const Key& key) {
    if (most_ == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(key);
    if (place == places_.end()) return nullptr;
    newest_first_.splice(newest_first_.begin(), newest_first_, place->second);
    return place->second->second;
  }

  void keep(const Key& key, Pointer kept) {
    if (most_ == 0) return;
    Pointer let_go_after_unlock;
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return;
    newest_first_.emplace_front(key, std::move(kept));
    places_.emplace(key, newest_first_.begin());
    if (places_.size() <= most_) return;
    let_go_after_unlock = std::move(newest_first_.back().second);
    places_.erase(newest_first_.back().first);
    newest_first_.pop_back();
  }

  void drop(const Key& key) {
    Pointer let_go_after_unlock;
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    let_go_after_unlock = std::move(place->second->second);
    newest_first_.erase(place->second);
    places_.erase(place);
  }

 private:
  using Order = std::list<std::pair<Key, Pointer>>;
  const std::size_t most_;
  TableMutex mutex_;
  Order newest_first_;                                        ///< Guarded by mutex_.
  std::unordered_map<Key, typename Order::iterator> places_;  ///< Guarded by mutex_.
};

}  // namespace zarrfs
