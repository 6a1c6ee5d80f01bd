// Consolidated metadata of a group: every document below it in one, rendered from the tree as it is
// shown. Source: Zarr v2 consolidated metadata (`.zmetadata`, format 1), and
// `consolidated_metadata` in zarr.json as zarr-python 3 writes it. Kept for a short while;
// rendering that takes long is kept longer. Thread-safe. Its lock is not held across I/O.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/nodes/node_cache.h"
#include "core/nodes/stored_permissions.h"

namespace zarrfs {

class Consolidation {
 public:
  Consolidation(ViewShared& shared, NodeCache& nodes, const StoredPermissions& permissions)
      : shared_(shared), nodes_(nodes), permissions_(permissions) {}

  /// `.zmetadata` (v2) or the group's `zarr.json` with inline consolidated metadata (v3). It was
  /// modified when the last one of its documents was.
  Result<DocumentText> text(const NodeState& group);
  /// Forgets every text: documents were changed.
  void forget();

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    DocumentText text;
    FileIdentity document;
    Clock::time_point until;
  };
  /// `modified` becomes the time of the newest document.
  Result<std::string> render(const NodeState& group, timespec& modified);
  Result<std::string> render_v2(const NodeState& group, timespec& modified);
  Result<std::string> render_v3(const NodeState& group, timespec& modified);
  Result<bool> may_be_told(const NodeState& group, const NodeState& node);
  /// Calls `visit` for each shown node from the group on, parents first.
  Result<void> visit_shown(const NodeState& group, timespec& modified,
                           const std::function<void(const NodeState&)>& visit);

  ViewShared& shared_;
  NodeCache& nodes_;
  const StoredPermissions& permissions_;
  std::atomic<std::uint64_t> epoch_{0};  ///< Counts calls of forget().
  TableMutex mutex_;
  std::unordered_map<std::string, Kept> kept_;
};

}  // namespace zarrfs
