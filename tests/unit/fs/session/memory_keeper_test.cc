#include "fs/session/memory_keeper.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

struct Machine {
  std::uint64_t resident = 20 * kMiB;
  std::uint64_t free = 0;  ///< Of what is resident.
  int given_back = 0;
  std::vector<NodeId> spare;
  bool may_prune = true;
  std::vector<NodeId> pruned;

  MemoryKeeper::Hands hands() {
    return {.resident = [this] { return resident; },
            .give_back =
                [this] {
                  resident -= free;
                  free = 0;
                  ++given_back;
                },
            .spare = [this] { return spare; },
            .prune =
                [this](auto nodes) {
                  if (may_prune) pruned.insert(pruned.end(), nodes.begin(), nodes.end());
                  return may_prune;
                }};
  }
};

TEST(MemoryKeeper, GivesBackWhatIsFreeOnceItHasGrown) {
  Machine machine;
  MemoryKeeper keeper(machine.hands(), 64 * kMiB);
  keeper.look();
  const int before = machine.given_back;
  machine.resident += kMiB;
  keeper.look();
  EXPECT_EQ(machine.given_back, before) << "that is little";
  machine.resident += 40 * kMiB;
  machine.free = 40 * kMiB;
  keeper.look();
  EXPECT_EQ(machine.given_back, before + 1);
  EXPECT_EQ(machine.resident, 21 * kMiB);
  keeper.look();
  EXPECT_EQ(machine.given_back, before + 1);
}

TEST(MemoryKeeper, HasTheKernelForgetWhatThereIsNoRoomFor) {
  Machine machine;
  MemoryKeeper keeper(machine.hands(), 64 * kMiB);
  keeper.look();
  EXPECT_TRUE(machine.pruned.empty());
  machine.spare = {5, 6};
  keeper.look();
  EXPECT_EQ(machine.pruned, machine.spare);
}

TEST(MemoryKeeper, AsksAKernelThatCannotForgetOnce) {
  Machine machine;
  machine.may_prune = false;
  MemoryKeeper keeper(machine.hands(), 64 * kMiB);
  machine.spare = {5};
  keeper.look();
  machine.may_prune = true;
  keeper.look();
  EXPECT_TRUE(machine.pruned.empty());
}

}  // namespace
}  // namespace zarrfs
