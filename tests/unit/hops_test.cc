// Which threads of programs change their processor with each answer.
#include "fs/ring/hops.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zarrfs {
namespace {

constexpr pid_t kTask = 7;

/// How many requests of `task` come by another queue than the one before, until one is answered
/// with yes; 0: none of 10,000.
unsigned hops_until_busy(Hops& hops, unsigned& queue, pid_t task = kTask) {
  constexpr unsigned kEnough = 10'000;
  for (unsigned i = 1; i <= kEnough; ++i) {
    queue = 1 - queue;
    if (hops.came(task, queue)) return i;
  }
  return 0;
}

TEST(Hops, AThreadThatStaysNeedsNothing) {
  Hops hops;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(hops.came(kTask, 3));
}

TEST(Hops, OneHopIsNoHabit) {
  Hops hops;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(hops.came(kTask, static_cast<unsigned>(i / 2 % 2)));
}

TEST(Hops, WhatDoesNotHelpIsTriedEverMoreSeldom) {
  Hops hops;
  unsigned queue = 0;
  EXPECT_FALSE(hops.came(kTask, queue)) << "the first request is no hop";
  unsigned wanted = Hops::kFirst;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(hops_until_busy(hops, queue), wanted);
    wanted = std::min(2 * wanted, Hops::kMost);
  }
  EXPECT_EQ(wanted, Hops::kMost);
}

TEST(Hops, WhatHelpedIsTriedAgainAtOnce) {
  Hops hops;
  unsigned queue = 0;
  EXPECT_FALSE(hops.came(kTask, queue));
  for (int i = 0; i < 5; ++i) hops_until_busy(hops, queue);
  for (unsigned i = 1; i < Hops::kSteady; ++i) EXPECT_FALSE(hops.came(kTask, queue));
  EXPECT_GT(hops_until_busy(hops, queue), Hops::kFirst) << "it stayed for too short a time";
  for (unsigned i = 0; i < Hops::kSteady; ++i) EXPECT_FALSE(hops.came(kTask, queue));
  EXPECT_EQ(hops_until_busy(hops, queue), Hops::kFirst);
}

TEST(Hops, AThreadThatIsNotKnownIsNone) {
  Hops hops;
  unsigned queue = 0;
  EXPECT_EQ(hops_until_busy(hops, queue, 0), 0U);
}

TEST(Hops, ThreadsDoNotCountForEachOther) {
  Hops hops;
  for (unsigned i = 0; i < 1000; ++i) {
    EXPECT_FALSE(hops.came(kTask, 0));
    EXPECT_FALSE(hops.came(kTask + 1, 1));
    EXPECT_FALSE(hops.came(kTask + 64, 2)) << "of the same place";
  }
}

}  // namespace
}  // namespace zarrfs
