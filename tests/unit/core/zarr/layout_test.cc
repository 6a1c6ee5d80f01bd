#include "core/zarr/layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <string>

#include "core/base/json.h"

namespace zarrfs {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr const char* kBytes = R"({"name":"bytes","configuration":{"endian":"little"}})";

std::string text_of(const Shape& shape) { return dump_json(Json(shape)); }

std::string sharded_by(const Shape& chunk, const std::string& inner, const char* more = "") {
  return R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" + text_of(chunk) +
         R"(,"codecs":[)" + inner + R"(],"index_codecs":[)" + kBytes + R"(,{"name":"crc32c"}])" +
         more + "}}";
}

std::string transpose(const Shape& order) {
  return R"({"name":"transpose","configuration":{"order":)" + text_of(order) + "}}";
}

std::string regular(const Shape& edges) {
  return R"({"name":"regular","configuration":{"chunk_shape":)" + text_of(edges) + "}}";
}

std::string rectilinear(const std::string& shapes) {
  return R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":)" + shapes +
         "}}";
}

Result<Layout> layout_of(const Shape& shape, const std::string& grid, const std::string& codecs) {
  const auto document =
      parse_json(R"({"zarr_format":3,"node_type":"array","data_type":"uint8","fill_value":0,
                     "chunk_key_encoding":"default","shape":)" +
                     text_of(shape) + R"(,"chunk_grid":)" + grid + R"(,"codecs":[)" + codecs + "]}",
                 "test", {});
  if (!document) return fail(document.error());
  ZARRFS_TRY(const ArrayMetadata array, parse_array(*document, "a"));
  return Layout::make(array);
}

void expect_refused(const Result<Layout>& layout, Fault fault, const std::string& said) {
  ASSERT_FALSE(layout) << said;
  EXPECT_EQ(layout.error().fault, fault) << layout.error().message;
  EXPECT_NE(layout.error().message.find(said), std::string::npos) << layout.error().message;
}

/// Every chunk has its own place, and each place leads back to its chunk.
void expect_round_trip(const Layout& layout) {
  std::set<std::pair<Shape, Shape>> places;
  for (std::uint64_t i = 0; i < layout.chunk_count(); ++i) {
    const Shape chunk = coordinates_of(i, layout.chunk_counts());
    const ChunkPlace place = layout.place_of(chunk);
    ASSERT_EQ(layout.chunk_at(place), chunk);
    ASSERT_TRUE(places.emplace(place.cell, place.entries).second);
    ASSERT_EQ(place.entries.size(), layout.levels().size());
  }
  if (!layout.sharded() || layout.chunk_count() == 0) return;
  // All entries of the first and the last cell: those not met above hold no element.
  for (const bool last : {false, true}) {
    Shape cell(layout.grid().axes.size(), 0);
    for (std::size_t k = 0; last && k < cell.size(); ++k) {
      cell[k] = layout.grid().axes[k].count() - 1;
    }
    const std::uint64_t first_level = *cell_count(layout.shard_counts(cell));
    ASSERT_EQ(layout.index_format_of(cell)->entries(), first_level);
    std::uint64_t below = 1;
    for (std::size_t i = 1; i < layout.levels().size(); ++i) {
      below *= layout.index_format(i).entries();
    }
    for (std::uint64_t number = 0; number < first_level * below; ++number) {
      ChunkPlace place{cell, Shape(layout.levels().size())};
      std::uint64_t rest = number;
      for (std::size_t i = layout.levels().size(); i-- > 1;) {
        place.entries[i] = rest % layout.index_format(i).entries();
        rest /= layout.index_format(i).entries();
      }
      place.entries[0] = rest;
      ASSERT_EQ(layout.chunk_at(place).has_value(), places.contains({place.cell, place.entries}));
    }
  }
}

TEST(Layout, WithoutShardingChunksAreTheCells) {
  const auto layout = layout_of({10, 20}, regular({4, 5}), kBytes);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_FALSE(layout->sharded());
  EXPECT_TRUE(layout->regular());
  EXPECT_EQ(layout->chunk_shape(), (Shape{4, 5}));
  EXPECT_EQ(layout->chunk_counts(), (Shape{3, 4}));
  EXPECT_EQ(layout->chunk_count(), 12U);
  EXPECT_EQ(layout->place_of(Shape{2, 3}).cell, (Shape{2, 3}));
  expect_round_trip(*layout);
}

TEST(Layout, ChunksOfAShardAreNumberedInCOrder) {
  const auto layout = layout_of({100, 100}, regular({20, 30}), sharded_by({10, 10}, kBytes));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->chunk_counts(), (Shape{10, 10}));
  const ChunkPlace place = layout->place_of(Shape{3, 7});
  EXPECT_EQ(place.cell, (Shape{1, 2}));
  EXPECT_EQ(place.entries, (Shape{4}));
  EXPECT_FALSE(layout->levels()[0].index_at_start);
  EXPECT_EQ(layout->index_format(0).encoded_size(), 100U);
  expect_round_trip(*layout);
}

TEST(Layout, EntriesPastTheArrayHoldNoChunk) {
  const auto layout = layout_of({25}, regular({20}), sharded_by({10}, kBytes));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->chunk_count(), 3U);
  EXPECT_EQ(layout->chunk_at({{1}, {0}}), Shape{2});
  EXPECT_FALSE(layout->chunk_at({{1}, {1}}));
}

TEST(Layout, PlacesThatDoNotExistHoldNoChunk) {
  const auto layout = layout_of({25}, regular({20}), sharded_by({10}, kBytes));
  ASSERT_TRUE(layout);
  EXPECT_FALSE(layout->chunk_at({{2}, {0}}));
  EXPECT_FALSE(layout->chunk_at({{0}, {2}}));
  EXPECT_FALSE(layout->chunk_at({{0}, {~0ULL}}));
  EXPECT_FALSE(layout->chunk_at({{0}, {}}));
  EXPECT_FALSE(layout->chunk_at({{}, {0}}));
}

TEST(Layout, RankZeroHasOneChunk) {
  for (const std::string& codecs : {std::string(kBytes), sharded_by({}, kBytes)}) {
    const auto layout = layout_of({}, regular({}), codecs);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->chunk_count(), 1U);
    expect_round_trip(*layout);
  }
}

TEST(Layout, AnAxisWithoutElementsLeavesNoChunks) {
  const Shape shape{1ULL << 40U, 0, 1ULL << 40U};
  const auto layout = layout_of(shape, regular({2, 0, 2}), sharded_by({1, 0, 1}, kBytes));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->chunk_count(), 0U);
}

TEST(Layout, NestedLevelsEachHaveTheirEntry) {
  const auto layout =
      layout_of({64, 64}, regular({32, 32}),
                sharded_by({16, 8}, sharded_by({4, 8}, kBytes, R"(,"index_location":"start")")));
  ASSERT_TRUE(layout) << layout.error().message;
  ASSERT_EQ(layout->levels().size(), 2U);
  EXPECT_TRUE(layout->levels()[1].index_at_start);
  EXPECT_EQ(layout->levels()[1].counts, (Shape{4, 1}));
  EXPECT_EQ(layout->chunk_shape(), (Shape{4, 8}));
  const ChunkPlace place = layout->place_of(Shape{15, 7});
  EXPECT_EQ(place.cell, (Shape{1, 1}));
  EXPECT_EQ(place.entries, (Shape{7, 3}));
  expect_round_trip(*layout);
}

TEST(Layout, ATransposeBeforeShardingMovesInFrontOfTheInnerChain) {
  // Stored axes are array axes 2, 0, 1.
  const auto layout = layout_of({4, 6, 8}, regular({4, 6, 8}),
                                transpose({2, 0, 1}) + "," + sharded_by({4, 1, 3}, kBytes));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->order(), (Shape{2, 0, 1}));
  EXPECT_EQ(layout->chunk_shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(layout->shard_counts(Shape{0, 0, 0}), (Shape{2, 4, 2}));
  EXPECT_EQ(layout->place_of(Shape{3, 0, 1}).entries, (Shape{1 * 8 + 3 * 2 + 0}));
  const auto& steps = layout->chunk_chain().steps();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].spec.name, "transpose");
  EXPECT_EQ(steps[0].spec.configuration["order"], Json(Shape{2, 0, 1}));
  expect_round_trip(*layout);
}

TEST(Layout, TransposesCompose) {
  const auto layout = layout_of(
      {4, 6, 8}, regular({4, 6, 8}),
      transpose({2, 0, 1}) + "," + transpose({1, 0, 2}) + "," + sharded_by({1, 4, 3}, kBytes));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->order(), (Shape{0, 2, 1}));
  EXPECT_EQ(layout->chunk_shape(), (Shape{1, 3, 4}));
  expect_round_trip(*layout);
}

TEST(Layout, TransposesMayStandBetweenLevels) {
  const auto layout =
      layout_of({16, 24}, regular({8, 12}),
                transpose({1, 0}) + "," +
                    sharded_by({6, 8}, transpose({1, 0}) + "," + sharded_by({2, 3}, kBytes)));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->order(), (Shape{1, 0}));
  EXPECT_EQ(layout->levels()[1].order, (Shape{0, 1}));
  EXPECT_EQ(layout->chunk_shape(), (Shape{2, 3}));
  EXPECT_EQ(layout->chunk_chain().steps().size(), 1U) << "both transposes undo each other";
  expect_round_trip(*layout);
}

TEST(Layout, CodecsAroundAShardAreKeptByLevel) {
  const auto layout =
      layout_of({4}, regular({4}), sharded_by({2}, kBytes) + R"(,{"name":"crc32c"})");
  ASSERT_TRUE(layout) << layout.error().message;
  ASSERT_EQ(layout->levels()[0].around.steps().size(), 1U);
  EXPECT_EQ(layout->levels()[0].around.steps()[0].spec.name, "crc32c");
  EXPECT_EQ(layout->chunk_chain().steps().size(), 1U);
}

TEST(Layout, CodecsThatHideChunksAreUnsupportedByName) {
  expect_refused(layout_of({4}, regular({4}), R"({"name":"bitround"},)" + sharded_by({2}, kBytes)),
                 Fault::kUnsupported, "bitround");
  EXPECT_TRUE(
      layout_of({4}, regular({4}),
                R"({"name":"example.note","must_understand":false},)" + sharded_by({2}, kBytes)));
  expect_refused(layout_of({4}, regular({4}), R"({"name":"example.other"})"), Fault::kUnsupported,
                 "example.other");
}

TEST(Layout, ShapesThatDoNotDivideAreDamaged) {
  expect_refused(layout_of({10}, regular({10}), sharded_by({3}, kBytes)), Fault::kDamaged,
                 "[3] does not divide the shard [10]");
  expect_refused(layout_of({10}, regular({10}), sharded_by({20}, kBytes)), Fault::kDamaged, "[20]");
  expect_refused(layout_of({8}, regular({8}), sharded_by({4}, sharded_by({3}, kBytes))),
                 Fault::kDamaged, "[3] does not divide the shard [4]");
  expect_refused(layout_of({8}, regular({8}), sharded_by({4, 4}, kBytes)), Fault::kDamaged,
                 "1 axes");
  expect_refused(layout_of({30}, rectilinear("[[10, 15, 5]]"), sharded_by({3}, kBytes)),
                 Fault::kDamaged, "[3]");
  expect_refused(layout_of({25}, rectilinear("[[10, 15]]"), sharded_by({3}, kBytes)),
                 Fault::kDamaged, "every edge of grid axis 0");
}

TEST(Layout, MalformedShardingIsDamagedByField) {
  const std::string head = R"({"name":"sharding_indexed","configuration":{)";
  const std::string index = std::string(R"("index_codecs":[)") + kBytes + "]";
  const std::string inner = std::string(R"("codecs":[)") + kBytes + "]";
  const std::pair<std::string, const char*> cases[] = {
      {head + inner + "," + index + "}}", "chunk_shape is missing"},
      {head + R"("chunk_shape":[2],)" + index + "}}", "codecs is missing"},
      {head + R"("chunk_shape":[2],)" + inner + "}}", "index_codecs is missing"},
      {head + R"("chunk_shape":[2],"codecs":[],)" + index + "}}", "codecs is []"},
      {head + R"("chunk_shape":[2],"codecs":{},)" + index + "}}", "codecs is {}"},
      {head + R"("chunk_shape":2,)" + inner + "," + index + "}}", "chunk_shape is 2"},
      {head + R"("chunk_shape":[-2],)" + inner + "," + index + "}}", "chunk_shape[0] is -2"},
      {head + R"("chunk_shape":[2],"index_location":"middle",)" + inner + "," + index + "}}",
       "middle"},
      {head + R"("chunk_shape":[2],"index_location":1,)" + inner + "," + index + "}}",
       "index_location is 1"},
  };
  for (const auto& [codecs, said] : cases) {
    expect_refused(layout_of({4}, regular({4}), codecs), Fault::kDamaged, said);
  }
}

TEST(Layout, OrdersThatAreNoPermutationAreDamaged) {
  for (const char* order : {"[0,0]", "[0]", "[0,1,2]", "[1,2]", "[-1,0]", "3", "\"X\"", "null"}) {
    const std::string codec =
        std::string(R"({"name":"transpose","configuration":{"order":)") + order + "}},";
    expect_refused(layout_of({4, 4}, regular({4, 4}), codec + sharded_by({2, 2}, kBytes)),
                   Fault::kDamaged, "transpose: order");
  }
  expect_refused(
      layout_of({4, 4}, regular({4, 4}), R"({"name":"transpose"},)" + sharded_by({2, 2}, kBytes)),
      Fault::kDamaged, "order is missing");
}

TEST(Layout, LevelsDeeperThanSixteenAreUnsupported) {
  std::string codecs = kBytes;
  for (int level = 0; level < 16; ++level) codecs = sharded_by({1}, codecs);
  EXPECT_TRUE(layout_of({1}, regular({1}), codecs));
  expect_refused(layout_of({1}, regular({1}), sharded_by({1}, codecs)), Fault::kUnsupported,
                 "deeper than 16");
}

TEST(Layout, HugeNumbersAreUnsupportedByName) {
  expect_refused(layout_of({1ULL << 62U}, regular({1ULL << 40U}), sharded_by({1}, kBytes)),
                 Fault::kUnsupported, "index larger than");
  expect_refused(layout_of({1ULL << 49U}, regular({1}), kBytes), Fault::kUnsupported, "2^48");
  expect_refused(layout_of({1ULL << 40U, 1ULL << 40U}, regular({1, 1}), kBytes),
                 Fault::kUnsupported, "2^48");
  expect_refused(layout_of({5, 5}, regular({1ULL << 40U, 1ULL << 40U}), kBytes),
                 Fault::kUnsupported, "2^63");
  const std::string deep =
      sharded_by({1ULL << 40U}, sharded_by({1ULL << 20U}, sharded_by({1}, kBytes)));
  expect_refused(layout_of({9}, regular({1ULL << 60U}), deep), Fault::kUnsupported, "2^48 chunks");
}

TEST(Layout, CellsOfDifferentSizeAreAddressedAsChunks) {
  const auto layout = layout_of({30, 8}, rectilinear("[[10, 15, 5], 4]"), kBytes);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_FALSE(layout->regular());
  EXPECT_TRUE(layout->chunk_shape().empty());
  EXPECT_EQ(layout->chunk_counts(), (Shape{3, 2}));
  const auto chain = layout->chain_of(Shape{1, 0});
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->decoded().shape, (Shape{15, 4}));
  expect_round_trip(*layout);
  expect_refused(layout_of({30}, rectilinear("[[10, 20]]"), R"({"name":"example.other"})"),
                 Fault::kUnsupported, "example.other");
}

TEST(Layout, ShardsOfDifferentSizeMayHaveOneGridOfChunks) {
  const auto layout =
      layout_of({120, 60}, rectilinear("[[20, 40, 60], [40, 20]]"), sharded_by({10, 20}, kBytes));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_TRUE(layout->regular());
  EXPECT_EQ(layout->chunk_counts(), (Shape{12, 3}));
  EXPECT_EQ(layout->shard_counts(Shape{1, 0}), (Shape{4, 2}));
  EXPECT_EQ(layout->shard_counts(Shape{2, 1}), (Shape{6, 1}));
  EXPECT_EQ(layout->index_format_of(Shape{2, 1})->entries(), 6U);
  const ChunkPlace place = layout->place_of(Shape{5, 1});
  EXPECT_EQ(place.cell, (Shape{1, 0}));
  EXPECT_EQ(place.entries, (Shape{7}));
  expect_round_trip(*layout);
}

TEST(Layout, PlacesAndChunksAreInverseForRandomLayouts) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 60; ++round) {
    const std::size_t rank = below(4);
    Shape order(rank);
    std::iota(order.begin(), order.end(), 0);
    Shape chunk(rank);  // innermost, in the axes of its level
    for (std::uint64_t& size : chunk) size = 1 + below(3);
    std::string codecs = kBytes;
    Shape shard = chunk;
    const std::uint64_t levels = below(4);
    for (std::uint64_t level = 0; level < levels; ++level) {
      codecs = sharded_by(shard, codecs);
      for (std::uint64_t& size : shard) size *= 1 + below(3);
      if (below(2) == 0) continue;
      std::shuffle(order.begin(), order.end(), random);
      codecs = transpose(order) + "," + codecs;
      Shape before(rank);
      for (std::size_t k = 0; k < rank; ++k) before[order[k]] = shard[k];
      shard = before;
    }
    Shape shape(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) shape[axis] = below(2 * shard[axis] + 2);
    const auto layout = layout_of(shape, regular(shard), codecs);
    ASSERT_TRUE(layout) << layout.error().message << codecs;
    EXPECT_EQ(layout->levels().size(), levels);
    expect_round_trip(*layout);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace zarrfs
