// Keeps the daemon's memory near what it holds: gives back what the allocator has free, and has the
// kernel forget names for which there is no room. One thread, that serves no requests.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/view/node_id.h"

namespace zarrfs {

class MemoryKeeper {
 public:
  struct Hands {
    std::function<std::uint64_t()> resident;     ///< Bytes of this process.
    std::function<void()> give_back;             ///< What the allocator has free.
    std::function<std::vector<NodeId>()> spare;  ///< Nodes that there is no room for.
    /// Has the kernel forget them; whether it can.
    std::function<bool(std::span<const NodeId>)> prune;
  };
  static constexpr int kPause = 2000;  ///< Milliseconds from one look to the next.

  /// `bound`: bytes of `memory=`.
  MemoryKeeper(Hands hands, std::uint64_t bound);
  void look();

 private:
  const Hands hands_;
  const std::uint64_t step_;  ///< Bytes to grow by before memory is given back again.
  std::uint64_t settled_ = 0;
  bool may_prune_ = true;
};

}  // namespace zarrfs
