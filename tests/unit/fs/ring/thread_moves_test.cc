// Which threads of programs change their processor with each answer.
#include "fs/ring/thread_moves.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zarrfs {
namespace {

constexpr pid_t kTask = 7;

class HopsTest : public ::testing::Test {
 protected:
  bool stays(pid_t task = kTask) { return hops_.came(task, queue_); }
  bool moves(pid_t task = kTask) {
    queue_ = 1 - queue_;
    return hops_.came(task, queue_);
  }
  /// How often it moves until a processor should be busy; 0: not in 10,000 times.
  unsigned moves_until_busy(pid_t task = kTask) {
    constexpr unsigned kEnough = 10'000;
    for (unsigned i = 1; i <= kEnough; ++i) {
      if (moves(task)) return i;
    }
    return 0;
  }

  ThreadMoves hops_;
  unsigned queue_ = 0;
};

TEST_F(HopsTest, AThreadThatStaysNeedsNothing) {
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(stays());
}

TEST_F(HopsTest, OneHopIsNoHabit) {
  EXPECT_FALSE(stays());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(moves());
    EXPECT_FALSE(stays());
  }
}

TEST_F(HopsTest, WhatDoesNotHelpIsTriedEverMoreSeldom) {
  EXPECT_FALSE(stays());
  unsigned wanted = ThreadMoves::kFirst;
  unsigned hops = 0;
  for (int i = 0; i < 20; ++i) {
    hops += moves_until_busy();
    EXPECT_EQ(hops % wanted, 0U);
    wanted = std::min(2 * wanted, ThreadMoves::kMost);
    EXPECT_FALSE(moves());
    ++hops;
    hops_.was_busy(kTask);
  }
  EXPECT_EQ(wanted, ThreadMoves::kMost);
  EXPECT_GT(hops, ThreadMoves::kMost);
}

TEST_F(HopsTest, WhatHelpedIsTriedAgainAtOnce) {
  EXPECT_FALSE(stays());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(moves_until_busy(), ThreadMoves::kFirst);
    EXPECT_FALSE(moves());  // the answer finds the processor of the one before idle
    EXPECT_FALSE(stays());
    hops_.was_busy(kTask);
  }
}

TEST_F(HopsTest, OneProcessorIsBusyAtATime) {
  EXPECT_FALSE(stays());
  EXPECT_EQ(moves_until_busy(), ThreadMoves::kFirst);
  EXPECT_EQ(moves_until_busy(), 0U);
  hops_.was_busy(kTask);
  EXPECT_NE(moves_until_busy(), 0U);
}

TEST_F(HopsTest, AThreadThatIsNotKnownIsNone) { EXPECT_EQ(moves_until_busy(0), 0U); }

TEST_F(HopsTest, ThreadsDoNotCountForEachOther) {
  for (unsigned i = 0; i < 1000; ++i) {
    EXPECT_FALSE(hops_.came(kTask, 0));
    EXPECT_FALSE(hops_.came(kTask + 1, 1));
    EXPECT_FALSE(hops_.came(kTask + 64, 2)) << "of the same place";
  }
}

}  // namespace
}  // namespace zarrfs
