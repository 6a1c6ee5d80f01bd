#include "fs/session/memory_keeper.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::uint64_t kLeastStep = std::uint64_t{4} << 20U;
constexpr std::uint64_t kPartOfBound = 32;

}  // namespace

MemoryKeeper::MemoryKeeper(Hands hands, std::uint64_t bound)
    : hands_(std::move(hands)), step_(std::max(kLeastStep, bound / kPartOfBound)) {}

void MemoryKeeper::look() {
  if (may_prune_) {
    const std::vector<NodeId> nodes = hands_.spare();
    if (!nodes.empty()) may_prune_ = hands_.prune(nodes);
  }
  if (hands_.resident() < settled_ + step_) return;
  hands_.give_back();
  settled_ = hands_.resident();
}

}  // namespace zarrfs
