#include "tools/shared/part.h"

#include <gtest/gtest.h>

#include <random>

#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

TEST(Part, IsTwoWholeNumbersOfWhichTheFirstIsNoMore) {
  ASSERT_TRUE(parse_part("3/64"));
  EXPECT_EQ(parse_part("3/64")->part, 3U);
  EXPECT_EQ(parse_part("3/64")->parts, 64U);
  EXPECT_TRUE(parse_part("1000000/1000000"));
  for (const char* wrong : {"", "/", "1", "1/", "/1", "0/1", "2/1", "-1/1", "+1/1", "1/-1", " 1/1",
                            "1/1 ", "1/2/3", "0x1/1", "1/1000001", "1/18446744073709551617"}) {
    EXPECT_FALSE(parse_part(wrong)) << wrong;
  }
}

TEST(Part, RangesFollowEachOtherAndDifferByOneAtMost) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t parts = 1 + random() % 50;
    const std::uint64_t total = round % 3 == 0 ? random() : random() % 100;
    std::uint64_t end = 0;
    for (std::uint64_t part = 1; part <= parts; ++part) {
      const NumberRange range = range_of_part(total, {part, parts});
      EXPECT_EQ(range.begin, end);
      EXPECT_GE(range.count(), total / parts);
      EXPECT_LE(range.count(), total / parts + 1);
      end = range.end;
    }
    EXPECT_EQ(end, total);
  }
}

TEST(Part, TheBoxOfARangeHoldsItsCells) {
  const std::vector<std::uint64_t> counts{3, 4, 5};
  for (std::uint64_t begin = 0; begin < 60; ++begin) {
    for (std::uint64_t end = begin + 1; end <= 60; ++end) {
      const CellBox box = box_of(counts, {begin, end});
      for (std::uint64_t cell = begin; cell < end; ++cell) {
        const std::vector<std::uint64_t> at{cell / 20, cell / 5 % 4, cell % 5};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          EXPECT_LE(box.first[axis], at[axis]);
          EXPECT_GE(box.last[axis], at[axis]);
        }
      }
    }
  }
  const CellBox row = box_of(counts, {21, 24});
  EXPECT_EQ(row.first, (std::vector<std::uint64_t>{1, 0, 1}));
  EXPECT_EQ(row.last, (std::vector<std::uint64_t>{1, 0, 3}));
  EXPECT_TRUE(box_of({}, {0, 1}).first.empty());
}

}  // namespace
}  // namespace zarrfs::tools
