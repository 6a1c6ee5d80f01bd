// Whom the daemon told that a node is stale.
#include "fs/requests/told_stale.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

constexpr pid_t kTask = 7;

TEST(ToldStale, IsToldOnceAndThenAnswered) {
  ToldStale told;
  const auto now = ToldStale::Clock::now();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(told.was_told(kTask, now));
    EXPECT_TRUE(told.was_told(kTask, now));
  }
  EXPECT_FALSE(told.was_told(kTask, now));
  EXPECT_FALSE(told.was_told(kTask + 1, now)) << "another one";
  EXPECT_TRUE(told.was_told(kTask, now));
}

TEST(ToldStale, WhatWasLongAgoIsNot) {
  ToldStale told;
  const auto now = ToldStale::Clock::now();
  EXPECT_FALSE(told.was_told(kTask, now));
  EXPECT_FALSE(told.was_told(kTask, now + ToldStale::kLately));
  EXPECT_TRUE(told.was_told(kTask, now + ToldStale::kLately)) << "it was told again";
}

TEST(ToldStale, FindingWhatHasTheNameMayTakeSeconds) {
  ToldStale told;
  const auto now = ToldStale::Clock::now();
  EXPECT_FALSE(told.was_told(kTask, now));
  EXPECT_TRUE(told.was_told(kTask, now + std::chrono::seconds(10)));
}

TEST(ToldStale, OfAnUnknownTaskNothingIsKnown) {
  ToldStale told;
  EXPECT_FALSE(told.was_told(0));
  EXPECT_FALSE(told.was_told(0));
}

TEST(ToldStale, WhoComesAfterManyOthersIsToldAgain) {
  ToldStale told;
  for (pid_t task = 1; task <= 1000; ++task) EXPECT_FALSE(told.was_told(task));
  EXPECT_FALSE(told.was_told(1));
  EXPECT_TRUE(told.was_told(1000));
}

}  // namespace
}  // namespace zarrfs
