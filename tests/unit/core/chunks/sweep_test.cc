// What a program that goes through a box of chunks comes to next.
#include "core/chunks/sweep.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace zarrfs {
namespace {

const Coordinates kCounts = {16, 16, 16};

class SweepTest : public ::testing::Test {
 protected:
  /// All of a box, the last axis fastest.
  void go(const ChunkBox& box) {
    for (std::uint64_t x = box.first[0]; x <= box.last[0]; ++x) {
      for (std::uint64_t y = box.first[1]; y <= box.last[1]; ++y) {
        for (std::uint64_t z = box.first[2]; z <= box.last[2]; ++z) sweep_.met({x, y, z}, kCounts);
      }
    }
  }
  [[nodiscard]] std::optional<ChunkBox> ahead() const { return sweep_.ahead(kCounts); }

  Sweep sweep_;
};

TEST_F(SweepTest, OneChunkTellsNothing) {
  EXPECT_FALSE(sweep_.met({3, 4, 5}, kCounts));
  EXPECT_FALSE(ahead());
}

TEST_F(SweepTest, TheSecondChunkTellsTheRow) {
  go({{3, 4, 5}, {3, 4, 6}});
  EXPECT_EQ(ahead(), (ChunkBox{{3, 4, 5}, {3, 4, 15}}));
}

TEST_F(SweepTest, TheSecondRowTellsThePlane) {
  go({{3, 4, 5}, {3, 4, 9}});
  EXPECT_TRUE(sweep_.met({3, 5, 5}, kCounts));
  EXPECT_EQ(ahead(), (ChunkBox{{3, 4, 5}, {3, 15, 9}}));
}

TEST_F(SweepTest, TheSecondPlaneTellsTheRest) {
  go({{0, 0, 0}, {0, 15, 15}});
  EXPECT_EQ(ahead(), (ChunkBox{{0, 0, 0}, {0, 15, 15}}));
  EXPECT_TRUE(sweep_.met({1, 0, 0}, kCounts));
  EXPECT_EQ(ahead(), (ChunkBox{{0, 0, 0}, {15, 15, 15}}));
}

TEST_F(SweepTest, APlaneAcrossTheRowsIsOneOfColumns) {
  for (std::uint64_t y = 0; y < 3; ++y) sweep_.met({7, y, 2}, kCounts);
  EXPECT_EQ(ahead(), (ChunkBox{{7, 0, 2}, {7, 15, 2}}));
}

TEST_F(SweepTest, SeveralThreadsComeNearlyInOrder) {
  for (const std::uint64_t z : {3U, 0U, 1U, 2U, 6U, 4U, 5U, 7U}) sweep_.met({0, 0, z}, kCounts);
  EXPECT_EQ(ahead(), (ChunkBox{{0, 0, 0}, {0, 0, 15}}));
}

TEST_F(SweepTest, SeveralRowsThatAreReadBackwardsAtOnceAreOneSweep) {
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> as_tensorstore_does = {
      {3, 9},  {1, 6},  {1, 5},  {1, 4},  {1, 3},  {1, 13},
      {1, 12}, {0, 12}, {2, 11}, {0, 11}, {2, 10}, {0, 10}};
  for (const auto& [y, z] : as_tensorstore_does) sweep_.met({1, y, z}, kCounts);
  EXPECT_EQ(sweep_.met(), as_tensorstore_does.size());
}

TEST_F(SweepTest, WhatIsFarAwayIsAnotherSweep) {
  go({{0, 0, 0}, {0, 0, 9}});
  EXPECT_FALSE(sweep_.met({9, 9, 9}, kCounts));
  EXPECT_FALSE(ahead());
  EXPECT_EQ(sweep_.met(), 1);
}

TEST_F(SweepTest, EverySecondChunkIsNone) {
  for (std::uint64_t z = 0; z < 16; z += 2) {
    sweep_.met({0, 0, z}, kCounts);
    EXPECT_TRUE(z < 4 || !ahead()) << z;
  }
}

TEST_F(SweepTest, AnArrayThatHasBecomeAnotherIsMetAnew) {
  sweep_.met({0, 0, 0}, kCounts);
  EXPECT_FALSE(sweep_.met({0, 1}, {4, 4}));
  EXPECT_FALSE(sweep_.ahead({4, 4}));
}

TEST(ChunkBoxTest, CountsItsChunks) {
  EXPECT_EQ((ChunkBox{{1, 2}, {2, 4}}).chunks(), 6);
  const std::uint64_t most = std::uint64_t{1} << 48U;
  EXPECT_EQ((ChunkBox{{0, 0}, {most, most}}).chunks(), UINT64_MAX);
}

}  // namespace
}  // namespace zarrfs
