// Directories and documents of a view: what is shown where, and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "core/base/json.h"
#include "core/nodes/node_cache.h"
#include "core/vfs/open_view.h"
#include "tests/support/counting_store.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ViewOptions v3_view() {
  ViewOptions options;
  options.format = ViewFormat::kV3;
  return options;
}

Fault fault_of_opening(const std::string& root, std::string* message = nullptr) {
  auto store = open_store(root, LinkPolicy::kInside);
  auto view = open_view(std::move(*store), {});
  if (view) return Fault::kNoData;
  if (message != nullptr) *message = view.error().message;
  return view.error().fault;
}

TEST(ViewTree, AGroupShowsItsV2DocumentsAndChildren) {
  StoreMaker maker;
  maker.group("", {{"title", "all"}}).group("g").array("g/a").text("g/notes.txt", "hello");
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), ElementsAre(".zgroup", ".zattrs", ".zmetadata", "g"));
  EXPECT_THAT(*shown.list("g"), ElementsAre(".zgroup", ".zattrs", ".zmetadata", "a", "notes.txt"));
  EXPECT_EQ((*shown.json(".zgroup"))["zarr_format"], 2);
  EXPECT_EQ((*shown.json(".zattrs"))["title"], "all");
  EXPECT_EQ(*shown.read("g/notes.txt"), "hello");
}

TEST(ViewTree, TheV2ViewNeverShowsV3Metadata) {
  StoreMaker maker;
  maker.group("").array("a");
  ShownStore shown(maker.root());
  EXPECT_TRUE(shown.absent("zarr.json"));
  EXPECT_TRUE(shown.absent("a/zarr.json"));
}

TEST(ViewTree, TheV3ViewShowsAnArrayWithoutSharding) {
  StoreMaker maker;
  maker.group("").array("a").chunk("a", {0, 1}, counting_elements(1, 4));
  ShownStore shown(maker.root(), v3_view());
  EXPECT_THAT(*shown.list("a"), ElementsAre("zarr.json", "c"));
  const Json document = *shown.json("a/zarr.json");
  EXPECT_EQ(document["codecs"][0]["name"], "bytes");
  EXPECT_EQ(document["chunk_grid"]["configuration"]["chunk_shape"], Json({2, 2}));
  EXPECT_THAT(*shown.list("a/c"), ElementsAre("0", "1"));
  EXPECT_THAT(*shown.list("a/c/0"), ElementsAre("1"));
  const Bytes elements = counting_elements(1, 4);
  EXPECT_EQ(*shown.read("a/c/0/1"), std::string(elements.begin(), elements.end()));
  EXPECT_TRUE(shown.absent("a/.zarray"));
}

TEST(ViewTree, AnArrayHidesItsShardsAndShowsForeignFiles) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4)).text("readme", "x");
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "readme", "0.0"));
  EXPECT_TRUE(shown.absent("c"));
}

TEST(ViewTree, AnImplicitGroupIsGivenItsDocuments) {
  StoreMaker maker;
  maker.array("deep/down/a").text("other/file", "x");
  ShownStore shown(maker.root());
  EXPECT_EQ((*shown.json(".zgroup"))["zarr_format"], 2);
  EXPECT_EQ((*shown.json("deep/down/.zgroup"))["zarr_format"], 2);
  EXPECT_TRUE(shown.absent("other/.zgroup"));
  EXPECT_THAT(*shown.list("other"), ElementsAre("file"));
}

TEST(ViewTree, AV2NodeOfTheStorePassesThrough) {
  StoreMaker maker;
  maker.group("").text("old/.zarray", "{}").text("old/0.0", "bytes");
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list("old"), ElementsAre(".zarray", "0.0"));
  EXPECT_EQ(*shown.read("old/0.0"), "bytes");
}

TEST(ViewTree, AnArrayThatCannotBeShownIsHiddenAndReported) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.extra = {{"storage_transformers", Json::parse(R"([{"name":"secret"}])")}};
  maker.group("").array("fine").text("strange/zarr.json", dump_document(plan.document()));
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), Not(Contains("strange")));
  EXPECT_TRUE(shown.absent("strange"));
  EXPECT_TRUE(shown.absent("strange/.zarray"));
  EXPECT_THAT(shown.view().report(), HasSubstr("/strange"));
  EXPECT_THAT(shown.log, Contains(HasSubstr("/strange is hidden")));
  EXPECT_FALSE((*shown.json(".zmetadata"))["metadata"].contains("strange/.zarray"));
}

// To who has it open, an array that vanishes would be full of the fill value.
TEST(ViewTree, AnArrayThatWasShownIsAnErrorWhereItCannotBeShownAnyMore) {
  constexpr useconds_t kPastValidity = 1'100'000;
  StoreMaker maker;
  ArrayPlan plan;
  plan.extra = {{"storage_transformers", Json::parse(R"([{"name":"secret"}])")}};
  maker.group("").array("a");
  ShownStore shown(maker.root());
  EXPECT_FALSE(shown.absent("a/.zarray"));
  maker.group("a");
  ::usleep(kPastValidity);  // what is known of a document holds for a second
  EXPECT_FALSE(shown.absent("a/.zgroup"));
  maker.text("a/zarr.json", dump_document(plan.document()));
  ::usleep(kPastValidity);  // the same
  EXPECT_EQ(shown.fault("a/0.0"), Fault::kUnsupported);
  EXPECT_EQ(shown.fault("a/.zarray"), Fault::kUnsupported);
}

TEST(ViewTree, DamagedMetadataIsListedAndAnswersWithDamage) {
  StoreMaker maker;
  maker.group("").text("broken/zarr.json", "{\"zarr_format\": 3, ").text("broken/notes", "kept");
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), Contains("broken"));
  EXPECT_THAT(*shown.list("broken"), ElementsAre(".zarray", ".zattrs", "notes"));
  for (const char* name : {".zarray", ".zattrs", ".zgroup", "0.0", "0", "c"}) {
    EXPECT_EQ(shown.fault(std::string("broken/") + name), Fault::kDamaged) << name;
  }
  EXPECT_EQ(*shown.read("broken/notes"), "kept");
  EXPECT_THAT(shown.log, Contains(HasSubstr("/broken is damaged")));
}

TEST(ViewTree, ConsolidatedMetadataAgreesWithTheTree) {
  StoreMaker maker;
  maker.group("").group("g", {{"k", 1}}).array("g/a").array("b");
  ShownStore shown(maker.root());
  const Json all = *shown.json(".zmetadata");
  EXPECT_EQ(all["zarr_consolidated_format"], 1);
  for (const char* key : {".zgroup", ".zattrs", "g/.zgroup", "g/.zattrs", "g/a/.zarray",
                          "g/a/.zattrs", "b/.zarray", "b/.zattrs"}) {
    ASSERT_TRUE(all["metadata"].contains(key)) << key;
    EXPECT_EQ(all["metadata"][key], *shown.json(key)) << key;
  }
  EXPECT_EQ(all["metadata"].size(), 8U);
  const Json part = *shown.json("g/.zmetadata");
  EXPECT_EQ(part["metadata"]["a/.zarray"], *shown.json("g/a/.zarray"));
}

TEST(ViewTree, TheV3ViewKeepsInlineConsolidatedMetadataTrue) {
  StoreMaker maker;
  const Json extra =
      Json::parse(R"({"consolidated_metadata":{"kind":"inline","must_understand":false,
                      "metadata":{"gone":{}}}})");
  maker.group("", Json::object(), extra).array("a");
  ShownStore shown(maker.root(), v3_view());
  const Json metadata = (*shown.json("zarr.json"))["consolidated_metadata"]["metadata"];
  EXPECT_FALSE(metadata.contains("gone"));
  EXPECT_EQ(metadata["a"], *shown.json("a/zarr.json"));
}

TEST(ViewTree, AReplacedDocumentIsSeenWithinASecond) {
  StoreMaker maker;
  maker.array("");
  ShownStore shown(maker.root());
  const InodeEntry before = **shown.find(".zarray");
  ArrayPlan larger;
  larger.shape = {400, 4};
  maker.array("", larger);
  ::usleep(1'100'000);  // what is known of a document holds for a second
  EXPECT_EQ((*shown.json(".zarray"))["shape"], Json({400, 4}));
  const auto outdated = shown.view().attributes(before.id);
  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().fault, Fault::kStale);
}

TEST(ViewTree, DimensionNamesThatDifferInSizeAreLeftOut) {
  StoreMaker maker;
  ArrayPlan large;
  large.dimension_names = {"y", "x"};
  ArrayPlan small = large;
  small.shape = {2, 4};
  ArrayPlan alone = large;
  alone.dimension_names = {"a", "b"};
  maker.group("").array("0", large).array("1", small).array("2", alone);
  ShownStore shown(maker.root());
  EXPECT_FALSE((*shown.json("0/.zattrs")).contains("_ARRAY_DIMENSIONS"));
  EXPECT_EQ((*shown.json("2/.zattrs"))["_ARRAY_DIMENSIONS"], Json({"a", "b"}));
}

TEST(ViewTree, TheReportFolderIsThereButNotListed) {
  StoreMaker maker;
  maker.array("").text(".zarrfs/log", "internal");
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), Not(Contains(".zarrfs")));
  EXPECT_THAT(*shown.list(".zarrfs"), ElementsAre("report.json", "stats.json"));
  EXPECT_TRUE(shown.absent(".zarrfs/log"));
  const Json report = *shown.json(".zarrfs/report.json");
  EXPECT_EQ(report["nodes"][0]["shown"], "verbatim");
  shown.view().set_front_statistics([] { return std::string(R"({"requests": 5})"); });
  EXPECT_EQ((*shown.json(".zarrfs/stats.json"))["requests"], 5);
}

TEST(ViewTree, SourcesThatAreNotZarrV3AreRefusedByName) {
  StoreMaker empty;
  empty.text("data/file", "x");
  std::string message;
  EXPECT_EQ(fault_of_opening(empty.root(), &message), Fault::kInvalid);
  EXPECT_THAT(message, HasSubstr("no Zarr v3 node"));

  StoreMaker draft;
  draft.text("zarr.json", R"({"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"})");
  EXPECT_EQ(fault_of_opening(draft.root(), &message), Fault::kUnsupported);
  EXPECT_THAT(message, HasSubstr("draft"));
}

TEST(ViewTree, PresentedFilesAreReadOnlyAndOwnedAsAsked) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  ViewOptions options;
  options.uid = 1234;
  options.gid = 56;
  options.umask = 0027;
  ShownStore shown(maker.root(), options);
  const InodeEntry chunk = **shown.find("0.0");
  EXPECT_EQ(chunk.status.st_mode, static_cast<mode_t>(S_IFREG | 0440));
  EXPECT_EQ(chunk.status.st_uid, 1234U);
  EXPECT_EQ(chunk.status.st_gid, 56U);
  EXPECT_EQ((*shown.find(""))->status.st_mode, static_cast<mode_t>(S_IFDIR | 0550));
}

TEST(ViewTree, WhatTheMountTellsOfItselfAsksNobody) {
  StoreMaker maker;
  maker.group("").array("a");
  const auto store = std::make_shared<CountingStore>(
      std::shared_ptr<Store>(*open_store(maker.root(), LinkPolicy::kInside)));
  ShownStore shown(*open_view(store, {}));
  std::this_thread::sleep_for(kValidity);  // then nodes that are known are asked for again
  store->calls().reset();
  const auto folder = shown.view().find(kRootNode, ".zarrfs");
  ASSERT_TRUE(folder && *folder);
  const auto file = shown.view().find((*folder)->id, "stats.json");
  ASSERT_TRUE(file && *file);
  EXPECT_TRUE(shown.view().attributes((*file)->id));
  const auto opened = shown.view().open_file((*file)->id);
  ASSERT_TRUE(opened);
  EXPECT_THAT(*read_all(**opened), HasSubstr("index_reads"));
  const auto refused = shown.view().attribute(kRootNode, kRefusedAttribute);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kNoData);
  EXPECT_EQ(store->calls().all(), 0);
  ASSERT_TRUE(shown.view().attributes(kRootNode));
  EXPECT_GT(store->calls().all(), 0) << "the root is asked for";
}

TEST(ViewTree, NamesThatLeaveADirectoryAreAbsent) {
  StoreMaker maker;
  maker.group("").array("a");
  ShownStore shown(maker.root());
  for (const char* name : {"..", ".", "", "a/.zarray"}) {
    const auto found = shown.view().find(kRootNode, name);
    ASSERT_TRUE(found) << name;
    EXPECT_FALSE(*found) << name;
  }
}

}  // namespace
}  // namespace zarrfs::test
