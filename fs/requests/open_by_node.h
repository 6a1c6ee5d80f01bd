// Opened files by the node through which they were opened. The kernel asks for the attributes of an
// opened file by its node alone, whose name may be gone or lead to another file by then: the opened
// file still has the answer. Thread-safe.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/view/view.h"

namespace zarrfs {

class OpenByNode {
 public:
  void opened(NodeId node, std::shared_ptr<OpenFile> file) {
    const std::lock_guard lock(mutex_);
    files_.emplace(node, std::move(file));
  }
  void closed(NodeId node, const OpenFile* file) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = files_.equal_range(node);
    const auto found =
        std::find_if(first, last, [file](const auto& one) { return one.second.get() == file; });
    if (found != last) files_.erase(found);
  }
  /// One of them, or null: one that is being written where there is one, since its size changes.
  [[nodiscard]] std::shared_ptr<OpenFile> find(NodeId node) const {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = files_.equal_range(node);
    if (first == last) return nullptr;
    const auto written =
        std::find_if(first, last, [](const auto& one) { return one.second->direct_io(); });
    return written == last ? first->second : written->second;
  }

 private:
  mutable TableMutex mutex_;
  std::unordered_multimap<NodeId, std::shared_ptr<OpenFile>> files_;
};

}  // namespace zarrfs
