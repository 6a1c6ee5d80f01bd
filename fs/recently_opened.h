// What was opened lately, by node: for mounts where the kernel does not tell about open and close,
// so that reads come with the node alone. Bounded: the longest unused one is closed first.
// Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/view/view.h"

namespace zarrfs {

template <class Opened>
class RecentlyOpened {
 public:
  explicit RecentlyOpened(std::size_t most) : most_(most) {}

  /// Null where `node` is not kept.
  std::shared_ptr<Opened> find(NodeId node) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(node);
    if (place == places_.end()) return nullptr;
    newest_first_.splice(newest_first_.begin(), newest_first_, place->second);
    return place->second->second;
  }

  void keep(NodeId node, std::shared_ptr<Opened> opened) {
    std::shared_ptr<Opened> closed_after_unlock;
    const std::lock_guard lock(mutex_);
    if (places_.contains(node)) return;
    newest_first_.emplace_front(node, std::move(opened));
    places_.emplace(node, newest_first_.begin());
    if (places_.size() <= most_) return;
    closed_after_unlock = std::move(newest_first_.back().second);
    places_.erase(newest_first_.back().first);
    newest_first_.pop_back();
  }

  void drop(NodeId node) {
    std::shared_ptr<Opened> closed_after_unlock;
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(node);
    if (place == places_.end()) return;
    closed_after_unlock = std::move(place->second->second);
    newest_first_.erase(place->second);
    places_.erase(place);
  }

 private:
  using Order = std::list<std::pair<NodeId, std::shared_ptr<Opened>>>;
  const std::size_t most_;
  std::mutex mutex_;
  Order newest_first_;                                           ///< Guarded by mutex_.
  std::unordered_map<NodeId, typename Order::iterator> places_;  ///< Guarded by mutex_.
};

}  // namespace zarrfs
