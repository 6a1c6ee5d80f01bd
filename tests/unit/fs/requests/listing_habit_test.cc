// Which listings come with the status of files.
#include "fs/requests/listing_habit.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using Statuses = ListingHabit::Statuses;

constexpr NodeId kListed = 7;
constexpr bool kFirst = true;
constexpr std::size_t kNames = 1024;  // of an answer
constexpr std::size_t kSamples = 2;   // of these, where the others come with their status

class ListingHabitTest : public ::testing::Test {
 protected:
  Statuses answer(bool first, NodeId directory = kListed, bool full = true) {
    const Statuses wanted = habit.wanted(directory, first);
    std::size_t without = 0;
    if (wanted == Statuses::kNone) without = kNames;
    if (wanted == Statuses::kMost) without = kSamples;
    habit.answered(directory, {kNames - without, without, full});
    return wanted;
  }
  void look_up(std::size_t names, NodeId directory = kListed) {
    for (std::size_t i = 0; i < names; ++i) habit.looked_up(directory);
  }
  /// A listing of which every name is looked up only when all of them were read.
  void list_and_look() {
    for (int i = 0; i < 4; ++i) answer(i == 0);
    look_up(4 * kNames);
  }

  ListingHabit habit;
};

TEST_F(ListingHabitTest, NamesAreAllThatIsToldWhereNobodyAsksForMore) {
  for (int listing = 0; listing < 3; ++listing) {
    EXPECT_EQ(answer(kFirst), Statuses::kNone);
    for (int i = 0; i < 400; ++i) EXPECT_EQ(answer(!kFirst), Statuses::kNone);
  }
}

TEST_F(ListingHabitTest, TheRestOfAListingComesWithWhatWasAskedForNameByName) {
  answer(kFirst);
  look_up(kNames / 2 - 1);
  EXPECT_EQ(answer(!kFirst), Statuses::kNone) << "a reader of some chunks";
  look_up(kNames);
  EXPECT_EQ(answer(!kFirst), Statuses::kMost);
  look_up(kSamples);
  EXPECT_EQ(answer(!kFirst), Statuses::kMost);
}

TEST_F(ListingHabitTest, TheNextListingOfTheSameDirectoryComesWithFromItsStart) {
  list_and_look();
  EXPECT_EQ(answer(kFirst), Statuses::kMost);
  look_up(kSamples);
  EXPECT_EQ(answer(kFirst), Statuses::kMost) << "somebody asks still";
  EXPECT_EQ(answer(kFirst), Statuses::kNone) << "nobody asked for the names that were left out";
}

TEST_F(ListingHabitTest, WhoWantsNamesOnlyIsNotToldMoreForLong) {
  list_and_look();
  std::size_t with = 0;
  for (bool first = kFirst; answer(first) == Statuses::kMost && with < 1000; first = !kFirst)
    ++with;
  EXPECT_GT(with * kNames, ListingHabit::kPatience);
  EXPECT_LT(with * kNames, ListingHabit::kPatience + 2 * kNames);
  EXPECT_EQ(answer(!kFirst), Statuses::kNone);
}

TEST_F(ListingHabitTest, WhatTheKernelDoesNotKeepForLongEnoughIsNotTold) {
  list_and_look();
  answer(kFirst);
  look_up(kNames);
  EXPECT_EQ(answer(!kFirst), Statuses::kNone);
  look_up(kNames);
  EXPECT_EQ(answer(!kFirst), Statuses::kNone) << "not in this listing";
  EXPECT_EQ(answer(kFirst), Statuses::kNone) << "nor at the start of the next one";
  look_up(kNames);
  EXPECT_EQ(answer(!kFirst), Statuses::kMost) << "which may be a faster one's";
}

TEST_F(ListingHabitTest, SomeLargeDirectoriesAreRemembered) {
  list_and_look();
  for (NodeId other = 100; other < 110; ++other) answer(kFirst, other);
  for (NodeId small = 200; small < 1000; ++small) answer(kFirst, small, false);
  EXPECT_EQ(answer(kFirst), Statuses::kMost);
  look_up(kSamples);
  for (NodeId other = 1000; other < 1100; ++other) answer(kFirst, other);
  EXPECT_EQ(answer(!kFirst), Statuses::kNone);
}

}  // namespace
}  // namespace zarrfs
