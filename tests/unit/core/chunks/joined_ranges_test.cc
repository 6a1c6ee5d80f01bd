#include "core/chunks/joined_ranges.h"

#include <gtest/gtest.h>

namespace zarrfs::test {
namespace {

using Ranges = std::vector<ByteRange>;

TEST(JoinedRanges, NeighboursAreOneInWhateverOrderTheyCome) {
  EXPECT_EQ(join_ranges({{20, 10}, {0, 10}, {10, 10}}, 100), (Ranges{{0, 30}}));
  EXPECT_EQ(join_ranges({{0, 20}, {10, 10}, {15, 10}}, 100), (Ranges{{0, 25}}));
  EXPECT_EQ(join_ranges({}, 100), Ranges{});
}

TEST(JoinedRanges, HalfAsMuchAsIsWantedMayComeForNothing) {
  EXPECT_EQ(join_ranges({{0, 50}, {100, 50}}, 1000), (Ranges{{0, 150}}));
  EXPECT_EQ(join_ranges({{0, 50}, {125, 50}}, 1000), (Ranges{{0, 50}, {125, 50}}));
  // Small gaps first.
  EXPECT_EQ(join_ranges({{0, 40}, {90, 40}, {140, 40}}, 1000), (Ranges{{0, 180}}));
  EXPECT_EQ(join_ranges({{0, 40}, {92, 40}, {142, 40}}, 1000), (Ranges{{0, 40}, {92, 90}}));
}

TEST(JoinedRanges, ThreeQuartersMayWhereTheGapsAreNoLongerThanTheRanges) {
  EXPECT_EQ(join_ranges({{0, 10}, {20, 10}, {40, 10}, {60, 10}}, 1000), (Ranges{{0, 70}}));
  EXPECT_EQ(join_ranges({{0, 10}, {20, 10}, {40, 10}, {60, 10}, {80, 10}}, 1000),
            (Ranges{{0, 70}, {80, 10}}));
  EXPECT_EQ(join_ranges({{0, 10}, {23, 10}, {46, 10}, {69, 10}}, 1000),
            (Ranges{{0, 33}, {46, 10}, {69, 10}}));
}

TEST(JoinedRanges, NoneIsLargerThanARequest) {
  EXPECT_EQ(join_ranges({{0, 40}, {40, 40}, {80, 40}}, 90), (Ranges{{0, 80}, {80, 40}}));
  EXPECT_EQ(join_ranges({{0, 400}}, 90), (Ranges{{0, 400}}));
}

}  // namespace
}  // namespace zarrfs::test
