// Rectilinear grids (ZEP 3) as the views show them: edges spelled in every way, re-chunked for Zarr
// v2, passed through for Zarr v3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string as_text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

std::string numbers(const std::vector<int>& values) {
  Bytes bytes;
  for (const int value : values) append_little(bytes, static_cast<std::uint16_t>(value));
  return as_text(bytes);
}

/// uint16 of `shape`, not sharded, with a rectilinear grid.
ArrayPlan edges(std::vector<std::uint64_t> shape, const std::string& chunk_shapes) {
  ArrayPlan plan;
  plan.shape = std::move(shape);
  plan.chunk_shape.clear();
  plan.fill_value = 9;
  plan.extra["chunk_grid"] = {
      {"name", "rectilinear"},
      {"configuration", {{"kind", "inline"}, {"chunk_shapes", Json::parse(chunk_shapes)}}}};
  return plan;
}

ViewOptions with_chunks(std::vector<std::uint64_t> chunk_shape) {
  ViewOptions options;
  options.rechunk = std::move(chunk_shape);
  return options;
}

/// Puts the raw bytes of a stored chunk at `key`.
void store(StoreMaker& maker, const std::string& key, const std::string& bytes) {
  maker.text("c/" + key, bytes);
}

/// One shown chunk over 2^26 stored ones, of which none is there.
TEST(ViewRectilinear, AChunkOfTooManyStoredOnesIsRefused) {
  StoreMaker maker;
  maker.array("", edges({1U << 13U, 1U << 13U}, "[[[1, 8192]], [[1, 8192]]]"));
  ShownStore shown(maker.root(), with_chunks({1U << 13U, 1U << 13U}));
  const auto answer = shown.read("0.0");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, Fault::kUnsupported) << answer.error().message;
}

/// 7 elements in chunks of 3, 1, 1, 2; the second is missing. `spelled`: these edges.
void expect_seven(const std::string& spelled) {
  SCOPED_TRACE(spelled);
  StoreMaker maker;
  maker.array("", edges({7}, spelled));
  store(maker, "0", numbers({0, 1, 2}));
  store(maker, "2", numbers({4}));
  store(maker, "3", numbers({5, 6}));
  ShownStore shown(maker.root(), with_chunks({2}));
  EXPECT_EQ((*shown.json(".zarray"))["chunks"], Json({2}));
  EXPECT_EQ(*shown.read("0"), numbers({0, 1}));
  EXPECT_EQ(*shown.read("1"), numbers({2, 9}));
  EXPECT_EQ(*shown.read("2"), numbers({4, 5}));
  EXPECT_EQ(*shown.read("3"), numbers({6, 9}));
  EXPECT_TRUE(shown.absent("4"));
  EXPECT_THAT(*shown.list("", 1), ElementsAre(".zarray", ".zattrs", "0", "1", "2", "3"));
}

TEST(ViewRectilinear, EdgesMayBeSpelledInEveryWay) {
  expect_seven("[[3, 1, 1, 2]]");
  expect_seven("[[3, [1, 2], 2]]");
  expect_seven("[[[3, 1], [1, 2], [2, 1]]]");
  expect_seven("[[3, [1, 2], 2, 5, [4, 1000000000000000]]]");
}

TEST(ViewRectilinear, TheLastChunkMayPassTheExtent) {
  StoreMaker maker;
  maker.array("", edges({5}, "[[1, [3, 2]]]"));
  store(maker, "0", numbers({0}));
  store(maker, "2", numbers({4, 77, 78}));  // the last two are outside the array
  ShownStore shown(maker.root(), with_chunks({4}));
  EXPECT_EQ(*shown.read("0"), numbers({0, 9, 9, 9}));
  EXPECT_EQ(shown.read("1")->substr(0, 2), numbers({4}));
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "0", "1"));
}

TEST(ViewRectilinear, ChunksOutsideTheArrayAreNotShown) {
  StoreMaker maker;
  maker.array("", edges({4}, "[[3, 1, 2]]"));
  store(maker, "2", numbers({1, 2}));
  {
    ShownStore shown(maker.root());
    EXPECT_TRUE(shown.absent("0"));
    EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs"));
  }
  ViewOptions options;
  options.format = ViewFormat::kV3;
  ShownStore shown(maker.root(), options);
  EXPECT_TRUE(shown.absent("c/2"));
}

TEST(ViewRectilinear, EachShownChunkTakesFromAllItOverlaps) {
  StoreMaker maker;
  maker.array("", edges({3, 4}, "[[1, 2], [3, 1]]"));
  store(maker, "0/0", numbers({0, 1, 2}));
  store(maker, "0/1", numbers({3}));
  store(maker, "1/0", numbers({10, 11, 12, 20, 21, 22}));
  ShownStore shown(maker.root(), with_chunks({2, 2}));
  EXPECT_EQ(*shown.read("0.0"), numbers({0, 1, 10, 11}));
  EXPECT_EQ(*shown.read("0.1"), numbers({2, 3, 12, 9}));
  EXPECT_EQ(*shown.read("1.0"), numbers({20, 21, 9, 9}));
  EXPECT_EQ(*shown.read("1.1"), numbers({22, 9, 9, 9}));
}

TEST(ViewRectilinear, ShownChunksWithoutAnyStoredAreMissing) {
  StoreMaker maker;
  maker.array("", edges({6}, "[[1, 3, 2]]"));
  store(maker, "0", numbers({5}));
  ShownStore shown(maker.root(), with_chunks({2}));
  EXPECT_EQ(*shown.read("0"), numbers({5, 9}));
  EXPECT_TRUE(shown.absent("1"));
  EXPECT_TRUE(shown.absent("2"));
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "0"));
}

TEST(ViewRectilinear, AGridIsChosenWhereTheUserNamesNone) {
  StoreMaker maker;
  maker.array("", edges({6, 6}, "[[1, 5], 4]"));
  store(maker, "0/1", numbers({0, 1, 99, 99}));
  ShownStore shown(maker.root());
  EXPECT_EQ((*shown.json(".zarray"))["chunks"], Json({6, 6}));
  std::vector<int> expected(36, 9);
  expected[4] = 0;
  expected[5] = 1;
  EXPECT_EQ(*shown.read("0.0"), numbers(expected));
}

TEST(ViewRectilinear, TheV3ViewPassesChunksThrough) {
  StoreMaker maker;
  maker.array("", edges({7}, "[[3, [1, 2], 2, [1, 1000000000000000]]]"));
  store(maker, "0", numbers({0, 1, 2}));
  store(maker, "3", numbers({5, 6}));
  ViewOptions options;
  options.format = ViewFormat::kV3;
  ShownStore shown(maker.root(), options);
  EXPECT_EQ((*shown.json("zarr.json"))["chunk_grid"]["name"], "rectilinear");
  EXPECT_EQ(*shown.read("c/0"), numbers({0, 1, 2}));
  EXPECT_EQ(*shown.read("c/3"), numbers({5, 6}));
  EXPECT_TRUE(shown.absent("c/1"));
  EXPECT_TRUE(shown.absent("c/4"));
}

TEST(ViewRectilinear, RunsThatNameManyChunksAreCountedNotExpanded) {
  StoreMaker maker;
  maker.array("", edges({1000000000000}, "[[1, [10, 100000000000]]]"));
  store(maker, "3", numbers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));  // elements 21 to 30
  ShownStore shown(maker.root(), with_chunks({5}));
  EXPECT_EQ(*shown.read("4"), numbers({9, 1, 2, 3, 4}));
  EXPECT_EQ(*shown.read("5"), numbers({5, 6, 7, 8, 9}));
  EXPECT_EQ(*shown.read("6"), numbers({10, 9, 9, 9, 9}));
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "4", "5", "6"));
}

TEST(ViewRectilinear, AStoredChunkOfAnotherLengthIsDamage) {
  StoreMaker maker;
  maker.array("", edges({4}, "[[1, 3]]"));
  store(maker, "1", numbers({1, 2}));
  ShownStore shown(maker.root(), with_chunks({2}));
  const auto read = shown.read("1");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().fault, Fault::kDamaged);
}

TEST(ViewRectilinear, ShardsOfSeveralLengthsHaveRegularChunks) {
  for (const char* spelled :
       {"[[4, 8, 12]]", "[[4, [8, 1], [12, 1]]]", "[[4, 8, 12, [4, 1000000000000]]]"}) {
    SCOPED_TRACE(spelled);
    ArrayPlan plan = edges({24}, spelled);
    plan.chunk_shape = {4};
    StoreMaker maker;
    maker.array("", plan);
    maker.chunk("", {0}, counting_elements(0, 4)).chunk("", {2}, counting_elements(8, 4));
    maker.chunk("", {5}, counting_elements(20, 4));
    ShownStore shown(maker.root());
    EXPECT_EQ((*shown.json(".zarray"))["chunks"], Json({4}));
    EXPECT_EQ(*shown.read("2"), as_text(counting_elements(8, 4)));
    EXPECT_EQ(*shown.read("5"), as_text(counting_elements(20, 4)));
    EXPECT_TRUE(shown.absent("1"));
    EXPECT_THAT(*shown.list("", 1), ElementsAre(".zarray", ".zattrs", "0", "2", "5"));
  }
}

TEST(ViewRectilinear, OtherGridsAreHiddenByName) {
  for (const char* kind : {"nested", "external"}) {
    ArrayPlan plan = edges({4}, "[[1, 3]]");
    plan.extra["chunk_grid"]["configuration"]["kind"] = "inline";
    StoreMaker maker;
    maker.group("").array("a", plan);
    Json document = Json::parse(file_text(maker.file("a/zarr.json")));
    document["chunk_grid"]["configuration"]["kind"] = kind;
    maker.text("a/zarr.json", document.dump());
    ShownStore shown(maker.root());
    EXPECT_TRUE(shown.absent("a"));
    EXPECT_THAT((*shown.json(".zarrfs/report.json")).dump(), HasSubstr(kind));
  }
}

}  // namespace
}  // namespace zarrfs::test
