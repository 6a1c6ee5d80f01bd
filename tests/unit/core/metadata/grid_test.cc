#include "core/metadata/grid.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/base/json.h"

namespace zarrfs {
namespace {

using Shape = std::vector<std::uint64_t>;

Result<Grid> grid_of(const std::string& text, const Shape& shape) {
  const auto document = parse_json(text, "test");
  if (!document) return fail(document.error());
  return parse_grid(*document, shape);
}

Result<Grid> regular(const std::string& sizes, const Shape& shape) {
  return grid_of(R"({"name":"regular","configuration":{"chunk_shape":)" + sizes + "}}", shape);
}

Result<Grid> rectilinear(const std::string& shapes, const Shape& shape) {
  return grid_of(
      R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":)" + shapes + "}}",
      shape);
}

void expect_fault(const Result<Grid>& grid, Fault fault, const std::string& said) {
  ASSERT_FALSE(grid) << said;
  EXPECT_EQ(grid.error().fault, fault) << grid.error().message;
  EXPECT_NE(grid.error().message.find(said), std::string::npos) << grid.error().message;
  EXPECT_LT(grid.error().message.size(), 400U);
}

TEST(Grid, RegularEdgesCoverTheShape) {
  const auto grid = regular("[4, 5]", {10, 5});
  ASSERT_TRUE(grid) << grid.error().message;
  EXPECT_TRUE(grid->regular());
  EXPECT_EQ(grid->counts(), (Shape{3, 1}));
  EXPECT_EQ(grid->count(), 3U);
  EXPECT_EQ(grid->axes[0].begin(2), 8U);
  EXPECT_EQ(grid->axes[0].edge(2), 4U);
  EXPECT_EQ(grid->axes[0].find(7), 1U);
}

TEST(Grid, RankZeroHasOneObject) {
  const auto grid = regular("[]", {});
  ASSERT_TRUE(grid);
  EXPECT_TRUE(grid->regular());
  EXPECT_EQ(grid->count(), 1U);
}

TEST(Grid, AnEmptyAxisHasNoObjectsWhateverTheOthersHave) {
  const auto grid = regular("[1, 1, 1]", {1ULL << 62U, 1ULL << 62U, 0});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->count(), 0U);
  EXPECT_FALSE(regular("[1, 1]", {1ULL << 62U, 1ULL << 62U})->count());
}

TEST(Grid, StoredEdgeOfZeroInARegularGridIsOne) {
  const auto grid = regular("[0]", {0});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->axes[0].regular_edge(), 1U);
  EXPECT_EQ(grid->axes[0].count(), 0U);
  EXPECT_EQ(grid->axes[0].largest_edge(), 1U);
}

TEST(Grid, TheLargestExtentDoesNotWrap) {
  const std::uint64_t most = ~0ULL >> 1U;
  const auto grid = regular("[9223372036854775806]", {most});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->axes[0].count(), 2U);
  EXPECT_EQ(grid->axes[0].begin(1), most - 1);
  EXPECT_EQ(grid->axes[0].find(most - 1), 1U);
}

TEST(Grid, MonthsOfAYearAreFoundByTheirDays) {
  const auto grid =
      rectilinear("[[31,28,31,30,31,30,[31,2],30,31,30,31], [12], [[5,2]]]", {365, 12, 10});
  ASSERT_TRUE(grid) << grid.error().message;
  EXPECT_FALSE(grid->regular());
  EXPECT_EQ(grid->counts(), (Shape{12, 1, 2}));
  const AxisGrid& days = grid->axes[0];
  EXPECT_EQ(days.find(58), 1U);
  EXPECT_EQ(days.find(59), 2U);
  EXPECT_EQ(days.begin(7), 212U);
  EXPECT_EQ(days.edge(7), 31U);
  EXPECT_EQ(days.find(364), 11U);
  EXPECT_EQ(days.largest_edge(), 31U);
  EXPECT_EQ(grid->axes[2].regular_edge(), 5U);
}

TEST(Grid, RunLengthsAreNeverExpanded) {
  const auto grid = rectilinear("[[[1, 1000000000000000]]]", {1000000000000000});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->axes[0].count(), 1000000000000000U);
  EXPECT_EQ(grid->axes[0].runs().size(), 1U);
  EXPECT_EQ(grid->axes[0].find(999999999999999), 999999999999999U);
}

TEST(Grid, SumsMayPassTheExtentAndSixtyFourBits) {
  const auto past = rectilinear("[[4, 4, [7, 100]]]", {8});
  ASSERT_TRUE(past);
  EXPECT_EQ(past->axes[0].count(), 2U);
  EXPECT_TRUE(past->regular()) << "only the edges within the extent count";
  const auto wide =
      rectilinear("[[3, [9223372036854775807, 9223372036854775807], 9223372036854775807]]", {100});
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->axes[0].count(), 2U);
  EXPECT_EQ(wide->axes[0].find(99), 1U);
}

TEST(Grid, EqualEdgesMakeARegularGrid) {
  const auto grid = rectilinear("[[10, 10, [10, 2]], 7]", {40, 14});
  ASSERT_TRUE(grid);
  EXPECT_TRUE(grid->regular());
  EXPECT_EQ(grid->axes[0].regular_edge(), 10U);
  EXPECT_EQ(grid->axes[1].count(), 2U);
}

TEST(Grid, ARegularGridThatMixesSizesAndListsIsRectilinear) {
  const auto grid = regular("[4, [3, [2, 2]]]", {8, 7});
  ASSERT_TRUE(grid) << grid.error().message;
  EXPECT_FALSE(grid->regular());
  EXPECT_EQ(grid->counts(), (Shape{2, 3}));
}

TEST(Grid, DivisibleMeansEveryEdge) {
  const AxisGrid axis = AxisGrid::of_runs(120, {{20, 1}, {40, 1}, {60, 1}});
  EXPECT_TRUE(axis.divisible_by(10));
  EXPECT_FALSE(axis.divisible_by(40));
}

TEST(Grid, MalformedGridsAreDamagedByField) {
  expect_fault(regular("[4]", {4, 4}), Fault::kDamaged, "has 1 axes, but the shape has 2");
  expect_fault(regular("[-1]", {4}), Fault::kDamaged, "chunk_shape[0] is -1");
  expect_fault(regular("[1.5]", {4}), Fault::kDamaged, "1.5");
  expect_fault(regular("[18446744073709551615]", {4}), Fault::kDamaged, "18446744073709551615");
  expect_fault(regular("[1e300]", {4}), Fault::kDamaged, "1e+300");
  expect_fault(regular("\"4\"", {4}), Fault::kDamaged, "not a list");
  expect_fault(regular("[null]", {4}), Fault::kDamaged, "null");
  expect_fault(rectilinear("[[4, 0]]", {4}), Fault::kDamaged, "[1] is 0");
  expect_fault(rectilinear("[0]", {4}), Fault::kDamaged, "at least 1");
  expect_fault(rectilinear("[[[4, 0]]]", {4}), Fault::kDamaged, "at least 1");
  expect_fault(rectilinear("[[[4, 1, 1]]]", {4}), Fault::kDamaged, "not [size, count]");
  expect_fault(rectilinear("[[]]", {0}), Fault::kDamaged, "empty list");
  expect_fault(rectilinear("[[3, [2, 3]]]", {10}), Fault::kDamaged, "end before the axis, 10");
  expect_fault(grid_of(R"({"name":"regular"})", {4}), Fault::kDamaged, "chunk_shape is missing");
  expect_fault(grid_of(R"("regular")", {4}), Fault::kDamaged, "chunk_shape is missing");
  expect_fault(grid_of(R"({"name":"regular","configuration":[]})", {4}), Fault::kDamaged,
               "configuration is []");
  for (const char* text : {"null", "[]", "{}", "3", R"({"name":3})"}) {
    expect_fault(grid_of(text, {4}), Fault::kDamaged, "chunk_grid is");
  }
  expect_fault(grid_of(R"({"name":"rectilinear","configuration":{"chunk_shapes":[[4]]}})", {4}),
               Fault::kDamaged, "kind");
}

TEST(Grid, MessagesStayShortWhateverTheDocumentHolds) {
  expect_fault(regular("[\"" + std::string(100000, 'x') + "\"]", {4}), Fault::kDamaged, "xxx");
  std::string list = "[[0";
  for (int i = 0; i < 10000; ++i) list += ", 1";
  expect_fault(rectilinear("[" + list + "]]]", {4}), Fault::kDamaged, "a list of 10001");
}

TEST(Grid, OtherGridsAreUnsupportedByName) {
  expect_fault(grid_of(R"({"name":"rectangular","configuration":{}})", {4}), Fault::kUnsupported,
               "rectangular");
  expect_fault(
      grid_of(R"({"name":"rectilinear","configuration":{"kind":"reference","chunk_shapes":[]}})",
              {4}),
      Fault::kUnsupported, "reference");
}

TEST(Grid, EveryPositionLiesInTheObjectThatIsFoundForIt) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<EdgeRun> runs(1 + random() % 5);
    std::uint64_t sum = 0;
    for (EdgeRun& run : runs) {
      run = {1 + random() % 9, 1 + random() % 4};
      sum += run.size * run.count;
    }
    const AxisGrid axis = AxisGrid::of_runs(random() % (sum + 1), runs);
    std::uint64_t next = 0;
    for (std::uint64_t index = 0; index < axis.count(); ++index) {
      ASSERT_EQ(axis.begin(index), next);
      for (std::uint64_t i = 0; i < axis.edge(index) && next + i < axis.extent(); ++i) {
        ASSERT_EQ(axis.find(next + i), index);
      }
      next += axis.edge(index);
      ASSERT_EQ(next < axis.extent(), index + 1 < axis.count());
    }
    ASSERT_GE(next, axis.extent());
  }
}

TEST(Grid, LinearNumbersAndCoordinatesAreInverse) {
  const Shape counts{3, 4, 5};
  for (std::uint64_t linear = 0; linear < 60; ++linear) {
    EXPECT_EQ(linear_of(coordinates_of(linear, counts), counts), linear);
  }
  EXPECT_EQ(coordinates_of(59, counts), (Shape{2, 3, 4}));
  EXPECT_EQ(linear_of({}, {}), 0U);
}

}  // namespace
}  // namespace zarrfs
