// Chunks of a view: names, sizes, bytes, absence, damage, change, and listings.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "core/base/json.h"
#include "core/base/request.h"
#include "core/vfs/open_view.h"
#include "tests/support/counting_store.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

Json zstd_codecs() {
  return Json::parse(R"([{"name":"bytes","configuration":{"endian":"little"}},
                         {"name":"zstd","configuration":{"level":1,"checksum":false}}])");
}

/// 8 x 8 elements in 4 shards of 2 x 2 chunks.
ArrayPlan four_shards() {
  ArrayPlan plan;
  plan.shape = {8, 8};
  return plan;
}

ViewOptions with_separator(char separator) {
  ViewOptions options;
  options.separator = separator;
  return options;
}

std::shared_ptr<CountingStore> counted(const StoreMaker& maker) {
  return std::make_shared<CountingStore>(
      std::shared_ptr<Store>(*open_store(maker.root(), LinkPolicy::kInside)));
}

void overwrite(const std::filesystem::path& path, off_t offset, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

TEST(ViewChunks, AChunkIsExactlyItsStoredBytes) {
  StoreMaker maker;
  maker.array("", four_shards())
      .chunk("", {0, 0}, counting_elements(1, 4))
      .chunk("", {0, 1}, counting_elements(50, 4))
      .chunk("", {3, 2}, counting_elements(90, 4));
  ShownStore shown(maker.root());
  EXPECT_EQ(*shown.read("0.0"), text_of(counting_elements(1, 4)));
  EXPECT_EQ(*shown.read("0.1"), text_of(counting_elements(50, 4)));
  EXPECT_EQ(*shown.read("3.2"), text_of(counting_elements(90, 4)));
  EXPECT_TRUE(shown.absent("1.1"));
  EXPECT_TRUE(shown.absent("2.0"));
  EXPECT_TRUE(shown.absent("4.0"));
}

TEST(ViewChunks, ASliceNeverReachesTheNextChunk) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  maker.chunk("", {0, 1}, counting_elements(50, 4));
  ShownStore shown(maker.root());
  const auto file = *shown.view().open_file((*shown.find("0.0"))->id);
  EXPECT_EQ((*file->read(6, 100)).range.length, 2U);
  EXPECT_EQ((*file->read(8, 100)).range.length, 0U);
  EXPECT_EQ((*file->read(~std::uint64_t{0}, ~std::uint64_t{0})).range.length, 0U);
}

TEST(ViewChunks, BothSeparatorsAreAnsweredAndLeadToTheSameFile) {
  StoreMaker maker;
  maker.array("", four_shards()).chunk("", {3, 2}, counting_elements(1, 4));
  for (const char separator : {'.', '/'}) {
    ShownStore shown(maker.root(), with_separator(separator));
    const InodeEntry flat = **shown.find("3.2");
    const InodeEntry nested = **shown.find("3/2");
    EXPECT_EQ(flat.id, nested.id);
    EXPECT_EQ(flat.status.st_ino, nested.status.st_ino);
    EXPECT_TRUE(shown.absent("0/0"));
  }
}

TEST(ViewChunks, NestedListingsShowWhatExists) {
  StoreMaker maker;
  maker.array("", four_shards())
      .chunk("", {3, 2}, counting_elements(1, 4))
      .chunk("", {0, 1}, counting_elements(1, 4));
  ShownStore shown(maker.root(), with_separator('/'));
  EXPECT_THAT(*shown.list("", 1), ElementsAre(".zarray", ".zattrs", "0", "1", "2", "3"));
  EXPECT_THAT(*shown.list("3"), ElementsAre("2"));
  EXPECT_THAT(*shown.list("0"), ElementsAre("1"));
  EXPECT_THAT(*shown.list("1"), IsEmpty());
  EXPECT_EQ(*shown.read("3/2"), text_of(counting_elements(1, 4)));
}

TEST(ViewChunks, AListingResumesAtEachOffset) {
  StoreMaker maker;
  maker.array("", four_shards());
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint64_t j = 0; j < 4; ++j) maker.chunk("", {i, j}, counting_elements(1, 4));
  }
  ShownStore shown(maker.root());
  const auto whole = *shown.list("");
  EXPECT_THAT(whole, SizeIs(2 + 16));
  EXPECT_EQ(*shown.list("", 1), whole);
  EXPECT_EQ(*shown.list("", 5), whole);
}

TEST(ViewChunks, ChunksOutsideTheArrayAreNotShown) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.shape = {3, 2};
  maker.array("", plan);
  maker.chunk("", {0, 0}, counting_elements(1, 4)).chunk("", {1, 0}, counting_elements(5, 4));
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "0.0", "1.0"));
  EXPECT_TRUE(shown.absent("0.1"));
}

TEST(ViewChunks, ScalarsAreShownAsChunkZero) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.shape = {};
  plan.shard_shape = {};
  plan.chunk_shape = {};
  plan.chunk_codecs = ArrayPlan::little_endian_codecs();
  maker.array("", plan).chunk("", {}, counting_elements(7, 1));
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "0"));
  EXPECT_EQ(*shown.read("0"), text_of(counting_elements(7, 1)));
}

TEST(ViewChunks, ArraysWithoutShardingAreShownToo) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.shard_shape = {2, 2};
  plan.chunk_shape = {};
  maker.array("", plan).chunk("", {1, 0}, counting_elements(1, 4));
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "1.0"));
  EXPECT_EQ(*shown.read("1.0"), text_of(counting_elements(1, 4)));
}

TEST(ViewChunks, NestedShardsAndIndexesAtTheStartAreShownAlike) {
  for (const char* location : {"start", "end"}) {
    StoreMaker maker;
    ArrayPlan plan = four_shards();
    plan.shard_shape = {8, 8};
    plan.chunk_shape = {4, 4};
    plan.index_location = location;
    plan.chunk_codecs = Json::array();
    plan.chunk_codecs.push_back({{"name", "sharding_indexed"},
                                 {"configuration",
                                  {{"chunk_shape", {2, 2}},
                                   {"codecs", ArrayPlan::little_endian_codecs()},
                                   {"index_codecs", ArrayPlan::checked_index_codecs()},
                                   {"index_location", location}}}});
    maker.array("", plan);
    maker.chunk("", {3, 1}, counting_elements(1, 4)).chunk("", {0, 2}, counting_elements(9, 4));
    ShownStore shown(maker.root());
    EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "0.2", "3.1"));
    EXPECT_EQ(*shown.read("3.1"), text_of(counting_elements(1, 4)));
    EXPECT_EQ(*shown.read("0.2"), text_of(counting_elements(9, 4)));
  }
}

TEST(ViewChunks, ADamagedShardIsListedWholeAndAnswersWithDamage) {
  StoreMaker maker;
  maker.array("", four_shards()).chunk("", {0, 0}, counting_elements(1, 4));
  maker.chunk("", {3, 3}, counting_elements(9, 4));
  std::string shard = file_text(maker.shard_of("", {0, 0}));
  shard[shard.size() - 10] = static_cast<char>(~shard[shard.size() - 10]);
  replace_file(maker.shard_of("", {0, 0}), shard);
  ShownStore shown(maker.root());
  EXPECT_THAT(*shown.list("", 1),
              ElementsAre(".zarray", ".zattrs", "0.0", "0.1", "1.0", "1.1", "3.3"));
  for (const char* name : {"0.0", "0.1", "1.1"}) {
    EXPECT_EQ(shown.read(name).error().fault, Fault::kDamaged);
    EXPECT_GT((*shown.find(name))->status.st_size, 0) << "readers that look first must find a file";
  }
  EXPECT_EQ(*shown.read("3.3"), text_of(counting_elements(9, 4)));
  EXPECT_FALSE(shown.log.empty());
  const std::size_t lines = shown.log.size();
  EXPECT_EQ(shown.read("0.0").error().fault, Fault::kDamaged);
  EXPECT_EQ(shown.log.size(), lines) << "a repeated fault is counted, not logged again";
}

TEST(ViewChunks, AReplacedShardGetsOtherNodesAndOpenFilesKeepTheirs) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  ShownStore shown(maker.root());
  const InodeEntry before = **shown.find("0.0");
  const auto file = *shown.view().open_file(before.id);
  maker.chunk("", {0, 0}, counting_elements(70, 4));
  const InodeEntry after = **shown.find("0.0");
  EXPECT_NE(before.id, after.id);
  EXPECT_EQ(before.status.st_ino, after.status.st_ino);
  EXPECT_EQ(*read_all(*file), text_of(counting_elements(1, 4)));
  EXPECT_EQ(*shown.read("0.0"), text_of(counting_elements(70, 4)));
  EXPECT_EQ(shown.view().open_file(before.id).error().fault, Fault::kStale);
  EXPECT_EQ(shown.view().attributes(before.id).error().fault, Fault::kStale);
}

TEST(ViewChunks, WhoCannotAskByNameIsToldWhatAReplacedChunkIsByNow) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  ShownStore shown(maker.root());
  const InodeEntry before = **shown.find("0.0");
  maker.chunk("", {0, 0}, counting_elements(70, 4));
  const auto now = shown.view().attributes_by_now(before.id);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->id, before.id);
  EXPECT_EQ(now->status.st_size, (*shown.find("0.0"))->status.st_size);
  EXPECT_TRUE(now->uncached);
  std::filesystem::remove(maker.shard_of("", {0, 0}));
  EXPECT_EQ(shown.view().attributes_by_now(before.id).error().fault, Fault::kStale);
  EXPECT_EQ(shown.view().attribute_names(before.id)->size(), 2U) << "of whatever version";
}

TEST(ViewChunks, AShardChangedInPlaceMakesOpenFilesStale) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  const std::filesystem::path shard = maker.shard_of("", {0, 0});
  std::filesystem::last_write_time(
      shard, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  ShownStore shown(maker.root());
  const auto file = *shown.view().open_file((*shown.find("0.0"))->id);
  ASSERT_TRUE(file->read(0, 4));
  overwrite(shard, 0, "XXXX");
  const auto plan = file->read(0, 4);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fault, Fault::kStale);
}

TEST(ViewChunks, MaterialisedFillChunksHaveTheSizeOfOthers) {
  StoreMaker maker;
  ArrayPlan plan = four_shards();
  plan.fill_value = 7;
  maker.array("", plan).chunk("", {0, 0}, counting_elements(1, 4));
  ViewOptions options;
  options.materialise = Materialise::kLookup;
  {
    ShownStore shown(maker.root(), options);
    EXPECT_EQ(*shown.read("3.3"), std::string("\7\0\7\0\7\0\7\0", 8));
    EXPECT_THAT(*shown.list(""), ElementsAre(".zarray", ".zattrs", "0.0"));
    EXPECT_TRUE(shown.absent("4.4"));
  }
  options.materialise = Materialise::kList;
  ShownStore shown(maker.root(), options);
  EXPECT_THAT(*shown.list("", 3), SizeIs(2 + 16));
}

TEST(ViewChunks, AChunkOfAnotherGridIsPutTogether) {
  StoreMaker maker;
  maker.array("", four_shards());
  maker.chunk("", {0, 0}, counting_elements(1, 4)).chunk("", {1, 1}, counting_elements(5, 4));
  ViewOptions options;
  options.rechunk = {4};
  ShownStore shown(maker.root(), options);
  EXPECT_EQ((*shown.json(".zarray"))["chunks"], Json({4, 4}));
  EXPECT_THAT(*shown.list("", 1), ElementsAre(".zarray", ".zattrs", "0.0"));
  EXPECT_TRUE(shown.absent("1.1"));
  Bytes expected;
  for (const int value : {1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8}) {
    append_little(expected, static_cast<std::uint16_t>(value));
  }
  EXPECT_EQ(*shown.read("0.0"), text_of(expected));
}

TEST(ViewChunks, ZstdFramesWithoutSizeAreNotShownAsTheyAre) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.chunk_codecs = zstd_codecs();
  // A raw block of 8 bytes in a frame with a window descriptor and no content size.
  Bytes frame = {0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58, 0x41, 0x00, 0x00};
  const Bytes elements = counting_elements(1, 4);
  frame.insert(frame.end(), elements.begin(), elements.end());
  maker.array("", plan).stored_chunk("", {0, 0}, frame);
  ShownStore shown(maker.root());
  EXPECT_NE((*shown.json(".zarray"))["compressor"]["id"], "zstd");
  const NodeId node = (*shown.find("0.0"))->id;
  EXPECT_EQ(*shown.view().attribute(node, "user.zarrfs.presented"), "blosc_wrapped");
  EXPECT_TRUE(shown.read("0.0"));
}

TEST(ViewChunks, ALateFrameWithoutSizeIsRefusedByName) {
  StoreMaker maker;
  ArrayPlan plan = four_shards();
  plan.chunk_codecs = zstd_codecs();
  maker.array("", plan).chunk("", {0, 0}, counting_elements(1, 4));
  ShownStore shown(maker.root());
  ASSERT_TRUE(shown.read("0.0"));
  maker.stored_chunk("", {3, 3}, {0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58, 0x01, 0x00, 0x00});
  const auto text = shown.read("3.3");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().fault, Fault::kDamaged);
  EXPECT_THAT(text.error().message, HasSubstr("3.3"));
}

TEST(ViewChunks, ExtendedAttributesTellWhereAChunkLies) {
  StoreMaker maker;
  maker.group("").array("a", four_shards());
  maker.chunk("a", {3, 3}, counting_elements(1, 4)).chunk("a", {3, 2}, counting_elements(1, 4));
  ShownStore shown(maker.root());
  const NodeId node = (*shown.find("a/3.3"))->id;
  EXPECT_THAT(*shown.view().attribute_names(node), SizeIs(5));
  EXPECT_EQ(*shown.view().attribute(node, "user.zarrfs.shard"), "a/c/1/1");
  EXPECT_EQ(*shown.view().attribute(node, "user.zarrfs.offset"), "8");
  EXPECT_EQ(*shown.view().attribute(node, "user.zarrfs.nbytes"), "8");
  EXPECT_EQ(*shown.view().attribute(node, "user.zarrfs.chunk"), "3.3");
  EXPECT_EQ(*shown.view().attribute(node, "user.zarrfs.presented"), "verbatim");
  EXPECT_EQ(shown.view().attribute(node, "user.other").error().fault, Fault::kNoData);
}

TEST(ViewChunks, ImmutableStoresAreCachedForEver) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  ViewOptions options;
  options.immutable = true;
  ShownStore shown(maker.root(), options);
  EXPECT_TRUE((*shown.find("0.0"))->immutable);
  EXPECT_TRUE((*shown.find(".zarray"))->immutable);
  EXPECT_FALSE((*shown.find(".zarrfs/report.json"))->immutable);
  EXPECT_EQ(*shown.read("0.0"), text_of(counting_elements(1, 4)));
}

// As an entry of a shard it would be damage, to zarrfs as well: the shard would take no more
// writes.
TEST(ViewChunks, AnEmptyChunkIsNotPublishedWithoutValidationEither) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  ViewOptions options;
  options.writing = Writing{};
  options.writing->validate = false;
  ShownStore shown(maker.root(), options);
  const auto write = [&](const char* name, const std::string& bytes) {
    const auto made = shown.view().create(kRootNode, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_TRUE(made) << made.error().message;
    const ByteView all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ASSERT_TRUE(made->file->write(0, all));
    ASSERT_TRUE(made->file->flush());
    made->file->closed();
  };
  write("0.0", "");
  ASSERT_TRUE(shown.view().publish());
  ASSERT_EQ(shown.view().unpublished().size(), 1U);
  EXPECT_EQ(*shown.read("0.0"), "");
  write("0.1", "12345678");
  ASSERT_TRUE(shown.view().publish());
  EXPECT_EQ(shown.view().unpublished().size(), 1U) << "what is a chunk is published beside it";
  EXPECT_EQ(*ShownStore(maker.root()).read("0.0"), text_of(counting_elements(1, 4)));
}

TEST(ViewChunks, AListingThatNobodyWaitsForIsNoFaultOfTheStore) {
  StoreMaker maker;
  maker.array("", four_shards()).chunk("", {0, 0}, counting_elements(1, 4));
  ShownStore shown(maker.root(), with_separator('/'));
  {
    const RequestScope ended(std::nullopt, [](const void*) { return true; });
    EXPECT_EQ(shown.list("0").error().fault, Fault::kGivenUp);
  }
  EXPECT_THAT(shown.log, IsEmpty());
  EXPECT_THAT(*shown.list("0"), ElementsAre("0"));
}

TEST(ViewChunks, AChunkIsFoundAndOpenedByOneLookAtItsShard) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  const auto store = counted(maker);
  ShownStore shown(*open_view(store, ViewOptions()));
  ASSERT_TRUE(shown.read("0.0"));  // the index is known from now on
  const int before = store->calls().count(StoreCall::kOpen);
  const auto chunk = *shown.view().find_and_open(kRootNode, "0.0");
  EXPECT_EQ(store->calls().count(StoreCall::kOpen) - before, 1);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(*read_all(*chunk->file), text_of(counting_elements(1, 4)));
  EXPECT_EQ(chunk->found.id, (*shown.find("0.0"))->id);
  EXPECT_EQ((*chunk->file->attributes())->status.st_size, 8);

  const auto document = *shown.view().find_and_open(kRootNode, ".zarray");
  EXPECT_EQ(*read_all(*document->file), *shown.read(".zarray"));
  EXPECT_EQ((*shown.view().find_and_open(kRootNode, ".zarrfs"))->file, nullptr);
  EXPECT_FALSE(*shown.view().find_and_open(kRootNode, "0.1"));
}

ViewOptions writing() {
  ViewOptions options;
  options.writing = Writing{};
  return options;
}

TEST(ViewChunks, WhatIsWrittenWhileAChunkIsLookedUpIsNotTheOneBefore) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  const auto store = counted(maker);
  ShownStore shown(*open_view(store, writing()));
  ASSERT_TRUE(shown.read("0.0"));  // the index is known from now on
  const NodeId before = (*shown.find("0.0"))->id;
  const std::string written = text_of(counting_elements(9, 4));
  store->calls().meanwhile(StoreCall::kOpen,
                           [&] { ASSERT_TRUE(shown.write(kRootNode, "0.0", written)); });
  const auto chunk = *shown.view().find_and_open(kRootNode, "0.0");
  EXPECT_EQ(chunk->found.id, (*shown.find("0.0"))->id);
  EXPECT_NE(chunk->found.id, before);
  EXPECT_EQ(*read_all(*chunk->file), written) << "the pages of its node are kept";
}

/// Programs tell versions of a file apart by its number and its time.
std::int64_t time_of(ShownStore& shown, const std::string& name) {
  const struct timespec time = (*shown.find(name))->status.st_mtim;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TEST(ViewChunks, NoTimeComesBackWhereADocumentIsChangedBetweenAWriteAndItsPublishing) {
  StoreMaker maker;
  maker.array("")
      .chunk("", {0, 0}, counting_elements(1, 4))
      .chunk("", {0, 1}, counting_elements(5, 4));
  ShownStore shown(maker.root(), writing());
  const std::int64_t before = time_of(shown, "0.0");
  ASSERT_TRUE(shown.write(kRootNode, "0.0", text_of(counting_elements(9, 4))));
  const std::int64_t written = time_of(shown, "0.0");
  EXPECT_GT(written, before);
  ASSERT_TRUE(shown.write(kRootNode, ".zattrs", R"({"units": "m"})"));
  ASSERT_TRUE(shown.write(kRootNode, "0.1", text_of(counting_elements(9, 4))));
  const std::int64_t unpublished = time_of(shown, "0.0");
  EXPECT_GE(unpublished, written);
  ASSERT_TRUE(shown.view().publish());
  EXPECT_EQ(time_of(shown, "0.0"), unpublished);
  EXPECT_EQ(*shown.read("0.0"), text_of(counting_elements(9, 4)));
}

TEST(ViewChunks, EachNodeOfAChunkThatIsWrittenAndPublishedHasOneContent) {
  constexpr unsigned kWrites = 600;
  constexpr unsigned kPublishedAfter = 7;
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(0, 4));
  ShownStore shown(maker.root(), writing());
  std::atomic<bool> ended{false};
  std::map<NodeId, std::string> contents;
  std::uint64_t mixed = 0;
  std::thread reader([&] {
    while (!ended) {
      const auto chunk = shown.view().find_and_open(kRootNode, "0.0");
      if (!chunk || !*chunk || (*chunk)->file->direct_io()) continue;  // no pages are kept of it
      const auto text = read_all(*(*chunk)->file);
      if (!text) continue;
      const auto known = contents.emplace((*chunk)->found.id, *text).first;
      if (known->second != *text) ++mixed;
    }
  });
  for (unsigned value = 1; value <= kWrites; ++value) {
    ASSERT_TRUE(shown.write(kRootNode, "0.0.partial", text_of(counting_elements(value, 4))));
    ASSERT_TRUE(shown.view().rename(kRootNode, "0.0.partial", kRootNode, "0.0", true));
    if (value % kPublishedAfter != 0) continue;
    ASSERT_TRUE(shown.view().publish());
  }
  ended = true;
  reader.join();
  EXPECT_EQ(mixed, 0U) << "of " << contents.size() << " nodes";
}

TEST(ViewChunks, ADamagedChunkIsFoundAndOpenedAndItsReadIsTheError) {
  StoreMaker maker;
  maker.array("").chunk("", {0, 0}, counting_elements(1, 4));
  std::string shard = file_text(maker.shard_of("", {0, 0}));
  shard[shard.size() - 10] = static_cast<char>(~shard[shard.size() - 10]);
  replace_file(maker.shard_of("", {0, 0}), shard);
  ShownStore shown(maker.root());
  const auto chunk = *shown.view().find_and_open(kRootNode, "0.0");
  ASSERT_TRUE(chunk && chunk->file);
  EXPECT_EQ(read_all(*chunk->file).error().fault, Fault::kDamaged);
}

TEST(ViewChunks, NumbersThatWereNeverGivenOutAreStale) {
  StoreMaker maker;
  maker.array("");
  ShownStore shown(maker.root());
  for (const NodeId id : {NodeId{0}, NodeId{999}, NodeId{1} << 50U, ~NodeId{0}}) {
    EXPECT_EQ(shown.view().attributes(id).error().fault, Fault::kStale) << id;
    EXPECT_FALSE(shown.view().open_file(id));
    EXPECT_FALSE(shown.view().open_directory(id));
    shown.view().forget(id, 1);
  }
}

}  // namespace
}  // namespace zarrfs::test
