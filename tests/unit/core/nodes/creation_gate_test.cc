#include "core/nodes/creation_gate.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace zarrfs {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool is_made_within(CreationGate& gate, std::chrono::seconds time) {
  const auto until = steady_clock::now() + time;
  while (steady_clock::now() < until) {
    if (gate.exclusive_creation("image")) return true;
    std::this_thread::sleep_for(milliseconds(5));  // as those that wait for an answer ask again
  }
  return false;
}

/// Looks names up in a store that is far away, one after the other, until it ends.
class Lookups {
 public:
  Lookups(CreationGate& gate, milliseconds each) {
    for (auto& thread : threads_) {
      thread = std::thread([&gate, this, each] {
        while (!ended_) {
          const auto lookup = gate.shared();
          ++found_;
          std::this_thread::sleep_for(each);
        }
      });
      std::this_thread::sleep_for(each / threads_.size());  // one begins while the others go on
    }
  }
  ~Lookups() {
    ended_ = true;
    for (auto& thread : threads_) thread.join();
  }
  [[nodiscard]] int found() const { return found_; }

 private:
  std::array<std::thread, 4> threads_;
  std::atomic<bool> ended_{false};
  std::atomic<int> found_{0};
};

TEST(CreationGateTest, ANodeIsMadeThoughSomebodyAlwaysLooksANameUp) {
  CreationGate gate;
  const Lookups lookups(gate, milliseconds(40));
  for (int made = 0; made < 5; ++made) ASSERT_TRUE(is_made_within(gate, std::chrono::seconds(10)));
}

TEST(CreationGateTest, ANodeIsMadeThoughLookupsTakeLong) {
  CreationGate gate;
  const Lookups lookups(gate, milliseconds(800));
  EXPECT_TRUE(is_made_within(gate, std::chrono::seconds(60)));
}

TEST(CreationGateTest, NamesAreFoundThoughOneIsNotAnswered) {
  CreationGate gate;
  const auto unanswered = gate.shared();
  std::atomic<bool> ended{false};
  std::thread makers([&] {  // of many nodes, by one thread that asks again for all
    while (!ended) {
      for (int node = 0; node < 10; ++node) EXPECT_FALSE(gate.exclusive_creation("image"));
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  {
    const Lookups lookups(gate, milliseconds(1));
    const auto until = steady_clock::now() + std::chrono::seconds(60);
    while (lookups.found() < 300 && steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_GE(lookups.found(), 300);
  }
  ended = true;
  makers.join();
}

TEST(CreationGateTest, FilesOfTheNodeThatAreOpenAreWaitedFor) {
  CreationGate gate;
  const auto chunk = gate.opened("image/0.0", true);
  ASSERT_TRUE(chunk);
  const auto other = gate.opened("images/0.0", true);
  ASSERT_TRUE(other);
  EXPECT_FALSE(gate.exclusive_creation("image"));
  EXPECT_TRUE(gate.node_waits("image"));
  EXPECT_FALSE(gate.opened("image/0.1", true));
  EXPECT_TRUE(gate.opened("image/notes.txt", true));
  gate.closed(*chunk);
  EXPECT_TRUE(gate.exclusive_creation("image"));
  EXPECT_FALSE(gate.node_waits("image"));
  EXPECT_TRUE(gate.opened("image/0.1", true));
}

}  // namespace
}  // namespace zarrfs
