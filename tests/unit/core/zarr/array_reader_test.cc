#include "core/zarr/array_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "core/store/part_file.h"
#include "core/zarr/tree.h"
#include "tests/support/counting_store.h"
#include "tests/support/shard_bytes.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Chunk = std::vector<std::uint64_t>;

/// An array of 4 x 6 bytes: two shards of 4 x 4, each of four chunks of 2 x 2; the second shard's
/// right half lies outside the array.
class ArrayReaderTest : public ::testing::Test {
 protected:
  void SetUp() override { make_array({.codecs = sharding("[2, 2]")}); }

  void make_array(const ArrayText& array) {
    directory.write("a/zarr.json", array_document(array));
    store = std::make_shared<CountingStore>(
        std::shared_ptr<Store>(*open_store(directory.path(), LinkPolicy::kInside)));
    cache = std::make_shared<IndexCache>(std::size_t{1} << 20U);
    counters = std::make_shared<ReadCounters>();
    const auto node = load_node(*store, "a");
    ASSERT_TRUE(node) << node.error().message;
    ASSERT_EQ(node->kind, Node::Kind::kArray) << node->error.message;
    reader = std::make_unique<ArrayReader>(store, "a", node->array, node->layout, cache, counters);
    store->calls().reset();
  }
  void write_shard(const ShardBytes& shard, const std::string& key = "c/0/0") {
    directory.write("a/" + key, shard.text());
  }
  /// A new file under the shard's name, as careful writers make it.
  void replace_shard(const ShardBytes& shard) {
    std::filesystem::create_directories(directory / "a/c/0");
    directory.write("new", shard.text());
    std::filesystem::rename(directory / "new", directory / "a/c/0/0");
  }
  /// The chunk's bytes, "-" where it is absent, "!" and the message where it cannot be read.
  std::string read(const Chunk& chunk) {
    const auto found = reader->find_chunk(chunk);
    if (!found) return "!" + found.error().message;
    if (!*found) return "-";
    const auto bytes = (*found)->read(counters.get());
    return bytes ? std::string(bytes->begin(), bytes->end()) : "!" + bytes.error().message;
  }
  Fault fault_of(const Chunk& chunk) {
    const auto found = reader->find_chunk(chunk);
    EXPECT_FALSE(found);
    return found ? Fault::kNoData : found.error().fault;
  }
  /// "number:chunk" of each chunk visited, with "!" behind those that are damaged.
  std::vector<std::string> visit(const Chunk& cell, std::uint64_t first = 0,
                                 std::size_t most = 1000) {
    std::vector<std::string> seen;
    const auto visited = reader->visit_shard(cell, first, [&](const ArrayReader::Visited& one) {
      std::string name = std::to_string(one.number) + ":";
      for (const auto coordinate : one.chunk) name += std::to_string(coordinate);
      if (!one.damage.empty()) name += "!";
      seen.push_back(name);
      last_damage = one.damage;
      return seen.size() < most;
    });
    if (!visited) seen.push_back(visited.error().message);
    return seen;
  }

  TempDir directory;
  std::shared_ptr<CountingStore> store;
  std::shared_ptr<IndexCache> cache;
  std::shared_ptr<ReadCounters> counters;
  std::unique_ptr<ArrayReader> reader;
  std::string last_damage;
};

/// A format of the test's own: each shard is a part of the file "packed".
class PackedStore final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    const auto part = parts.find(path);
    if (part == parts.end()) return below().open_for(path, hint);
    ZARRFS_TRY(const auto whole, below().open_for("packed", hint));
    return std::make_shared<PartFile>(whole, "packed", part->second);
  }
  std::map<std::string, ByteRange> parts;
};

ShardBytes whole_shard() {
  return ShardBytes(4).add(0, "aaaa").add(1, "bbbb").add(2, "cccc").add(3, "dddd");
}

TEST_F(ArrayReaderTest, TheFirstChunkOfAShardCostsTwoRangedReadsAndEachNextOne) {
  write_shard(whole_shard());
  EXPECT_EQ(read({0, 0}), "aaaa");
  EXPECT_EQ(store->calls().count(StoreCall::kReadAt), 2);
  EXPECT_EQ(read({0, 1}), "bbbb");
  EXPECT_EQ(store->calls().count(StoreCall::kReadAt), 3);
  EXPECT_EQ(read({1, 0}), "cccc");
  EXPECT_EQ(read({1, 1}), "dddd");
  EXPECT_EQ(store->calls().count(StoreCall::kReadAt), 5);
  EXPECT_EQ(counters->index_reads, 1U);
  EXPECT_EQ(counters->index_hits, 3U);
  EXPECT_EQ(counters->range_reads, 4U);
  EXPECT_EQ(counters->bytes, 16U);
}

TEST_F(ArrayReaderTest, AShardMayBePartOfAFile) {
  const std::string first = whole_shard().text();
  const std::string second = ShardBytes(4).add(0, "eeee").add(2, "gggg").text();
  directory.write("packed", "head" + first + "between" + second);
  const auto packed = std::make_shared<PackedStore>(store);
  packed->parts["a/c/0/0"] = {4, first.size()};
  packed->parts["a/c/0/1"] = {4 + first.size() + 7, second.size()};
  const auto node = load_node(*packed, "a");
  reader = std::make_unique<ArrayReader>(packed, "a", node->array, node->layout, cache, counters);
  EXPECT_EQ(read({0, 0}), "aaaa");
  EXPECT_EQ(read({1, 1}), "dddd");
  EXPECT_EQ(read({0, 2}), "eeee");
  EXPECT_EQ(read({1, 2}), "gggg");
  const auto found = reader->find_chunk(Chunk{1, 2});
  EXPECT_EQ((*found)->file->size(), 4 + first.size() + 7 + second.size()) << "the stored file";
  EXPECT_EQ((*found)->range, (ByteRange{4 + first.size() + 7 + 4, 4}));
  const auto visited = reader->visit_shard(Chunk{0, 1}, 2, [&](const ArrayReader::Visited& one) {
    EXPECT_EQ(one.range, (ByteRange{4, 4})) << "within the shard";
    EXPECT_NE(one.part, nullptr);
    EXPECT_EQ(range_within(one.part->range, one.range), (*found)->range);
    return true;
  });
  EXPECT_TRUE(visited);
}

TEST_F(ArrayReaderTest, ManyLooksInARowOpenAShardOnce) {
  write_shard(ShardBytes(4).add(0, "aaaa").add(3, "dddd"));
  ShardInHand hand;
  EXPECT_TRUE(reader->find_chunk(Chunk{0, 0}, &hand)->has_value());
  EXPECT_FALSE(reader->find_chunk(Chunk{0, 1}, &hand)->has_value());
  replace_shard(whole_shard());
  EXPECT_FALSE(reader->find_chunk(Chunk{0, 1}, &hand)->has_value()) << "as at the first look";
  EXPECT_EQ(store->calls().count(StoreCall::kOpen), 1);
  EXPECT_FALSE(reader->find_chunk(Chunk{0, 2}, &hand)->has_value()) << "of an absent shard";
  EXPECT_TRUE(reader->find_chunk(Chunk{0, 1}, &hand)->has_value()) << "opened anew";
  EXPECT_EQ(store->calls().count(StoreCall::kOpen), 3);
}

TEST_F(ArrayReaderTest, AShardThatCannotBeReadIsOpenedAnewByTheNextLook) {
  write_shard(ShardBytes(4).add(0, "aaaa").with_bad_checksum());
  ShardInHand hand;
  EXPECT_FALSE(reader->find_chunk(Chunk{0, 0}, &hand));
  replace_shard(whole_shard());
  const auto found = reader->find_chunk(Chunk{0, 0}, &hand);
  EXPECT_TRUE(found && *found);
}

TEST_F(ArrayReaderTest, MissingShardsAndMissingEntriesAreAbsent) {
  EXPECT_EQ(read({0, 0}), "-");
  EXPECT_THAT(visit({0, 0}), ElementsAre());
  write_shard(ShardBytes(4).add(2, "cccc"));
  EXPECT_EQ(read({0, 0}), "-");
  EXPECT_EQ(read({1, 0}), "cccc");
  EXPECT_FALSE(reader->shard_status(Chunk{0, 1})->has_value());
  EXPECT_EQ((*reader->shard_status(Chunk{0, 0}))->st_size, 4 + 64 + 4);
}

TEST_F(ArrayReaderTest, OffsetsCountFromTheStartOfTheFileWhereTheIndexComesFirst) {
  make_array({.codecs = sharding("[2, 2]", "start")});
  write_shard(ShardBytes(4, true).add(3, "dddd").add(0, "aaaa"));
  EXPECT_EQ(read({0, 0}), "aaaa");
  EXPECT_EQ(read({1, 1}), "dddd");
}

TEST_F(ArrayReaderTest, ChunksOutsideTheGridAreInvalid) {
  EXPECT_EQ(fault_of({2, 0}), Fault::kInvalid);
  EXPECT_EQ(fault_of({0, 3}), Fault::kInvalid);
  EXPECT_EQ(fault_of({0}), Fault::kInvalid);
  EXPECT_EQ(fault_of({0, 0, 0}), Fault::kInvalid);
}

TEST_F(ArrayReaderTest, AnIndexWithABadChecksumDamagesEachOfItsChunks) {
  write_shard(whole_shard().with_bad_checksum());
  for (const Chunk& chunk : {Chunk{0, 0}, Chunk{1, 1}}) {
    EXPECT_EQ(fault_of(chunk), Fault::kDamaged);
    EXPECT_THAT(read(chunk), HasSubstr("shard a/c/0/0: "));
  }
  EXPECT_EQ(visit({0, 0}).size(), 1U);
  EXPECT_THAT(visit({0, 0}).front(), HasSubstr("shard a/c/0/0: "));
}

TEST_F(ArrayReaderTest, ADamagedEntryHidesNoOtherChunk) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  const std::vector<ByteRange> entries = {{kNone - 3, 8}, {4, kNone - 1}, {100, 4}, {10, 8},
                                          {kNone, 4},     {4, kNone},     {4, 0}};
  for (const ByteRange& entry : entries) {
    replace_shard(ShardBytes(4).add(0, "aaaa").add(3, "dddd").set(2, entry.offset, entry.length));
    EXPECT_EQ(fault_of({1, 0}), Fault::kDamaged) << spell_range(entry);
    EXPECT_THAT(read({1, 0}),
                AllOf(HasSubstr("shard a/c/0/0: entry 2 "), HasSubstr(spell_range(entry))));
    EXPECT_EQ(read({0, 0}), "aaaa");
    EXPECT_EQ(read({1, 1}), "dddd");
    EXPECT_EQ(read({0, 1}), "-");
    EXPECT_THAT(visit({0, 0}), ElementsAre("0:00", "2:10!", "3:11"));
  }
}

TEST_F(ArrayReaderTest, AnEntryLongerThanAnyChunkIsDamagedAndNotRead) {
  const std::string index = ShardBytes(4).set(1, 0, std::uint64_t{1} << 40U).add(0, "").text();
  directory.write("a/c/0/0", "");
  std::filesystem::resize_file(directory / "a/c/0/0", std::uint64_t{1} << 41U);
  std::ofstream out(directory / "a/c/0/0", std::ios::binary | std::ios::app);
  out << index;
  out.close();
  EXPECT_EQ(fault_of({0, 1}), Fault::kDamaged);
  EXPECT_THAT(read({0, 1}), HasSubstr("is longer than a chunk of this array can be"));
}

TEST_F(ArrayReaderTest, EntriesMayShareBytes) {
  write_shard(ShardBytes(4).add(0, "aaaabb").set(0, 0, 4).set(1, 0, 4).set(2, 2, 4));
  EXPECT_EQ(read({0, 0}), "aaaa");
  EXPECT_EQ(read({0, 1}), "aaaa");
  EXPECT_EQ(read({1, 0}), "aabb");
}

TEST_F(ArrayReaderTest, AShardShorterThanItsIndexIsDamagedWithNumbers) {
  for (const std::size_t size : {0, 1, 67}) {
    directory.write("a/c/0/0", whole_shard().text().substr(0, size));
    EXPECT_EQ(fault_of({0, 0}), Fault::kDamaged) << size;
    EXPECT_THAT(read({0, 0}), HasSubstr(std::to_string(size) + " bytes"));
    EXPECT_THAT(read({0, 0}), HasSubstr("68"));
  }
}

TEST_F(ArrayReaderTest, AnOpenChunkKeepsItsShardWhenAnotherIsRenamedOverIt) {
  replace_shard(whole_shard());
  const auto open = reader->find_chunk(Chunk{0, 0});
  ASSERT_TRUE(open && *open);
  replace_shard(ShardBytes(4).add(0, "AAAA").add(1, "BBBB"));
  EXPECT_EQ(read({0, 0}), "AAAA");
  EXPECT_EQ(read({1, 1}), "-");
  EXPECT_EQ((*open)->read(), (Bytes{'a', 'a', 'a', 'a'}));
}

TEST_F(ArrayReaderTest, AShardChangedInPlaceIsStaleForTheOpenChunkAndNewForTheNext) {
  write_shard(whole_shard());
  const auto open = reader->find_chunk(Chunk{0, 0});
  ASSERT_TRUE(open && *open);
  write_shard(ShardBytes(4).add(0, "A").add(1, "BB"));
  EXPECT_EQ((*open)->read().error().fault, Fault::kStale);
  EXPECT_EQ(read({0, 0}), "A");
  EXPECT_EQ(read({0, 1}), "BB");
}

TEST_F(ArrayReaderTest, ADeletedShardIsAbsentAndAFailingStorageIsNot) {
  write_shard(whole_shard());
  EXPECT_EQ(read({0, 0}), "aaaa");
  for (const int number : {EIO, EACCES, ENFILE}) {
    store->calls().fail_once(StoreCall::kOpen, 1, number);
    EXPECT_EQ(errno_of(fault_of({0, 0})), number);
    EXPECT_EQ(read({0, 0}), "aaaa");
  }
  std::filesystem::remove(directory / "a/c/0/0");
  EXPECT_EQ(read({0, 0}), "-");
}

TEST_F(ArrayReaderTest, AShardThatChangesWhileItIsOpenedIsTriedAgainAFewTimes) {
  write_shard(whole_shard());
  store->calls().fail_once(StoreCall::kReadAt, 1, ESTALE);
  EXPECT_EQ(read({0, 0}), "aaaa");
  cache->drop("a/c/0/0");
  for (const int number : {1, 2, 3}) store->calls().fail_once(StoreCall::kReadAt, number, ESTALE);
  EXPECT_EQ(fault_of({0, 0}), Fault::kStale);
}

TEST_F(ArrayReaderTest, AFailedReadOfTheIndexIsNotKept) {
  write_shard(whole_shard());
  store->calls().fail_once(StoreCall::kReadAt, 1, EIO);
  EXPECT_EQ(fault_of({0, 0}), Fault::kIo);
  EXPECT_EQ(read({0, 0}), "aaaa");
}

TEST_F(ArrayReaderTest, ADirectoryInTheShardsPlaceIsDamage) {
  std::filesystem::create_directories(directory / "a/c/0/0");
  EXPECT_EQ(fault_of({0, 0}), Fault::kDamaged);
  EXPECT_EQ(reader->shard_status(Chunk{0, 0}).error().fault, Fault::kDamaged);
}

TEST_F(ArrayReaderTest, VisitsByNumberFromAnyNumberOn) {
  write_shard(whole_shard());
  EXPECT_THAT(visit({0, 0}), ElementsAre("0:00", "1:01", "2:10", "3:11"));
  EXPECT_THAT(visit({0, 0}, 2), ElementsAre("2:10", "3:11"));
  EXPECT_THAT(visit({0, 0}, 1, 2), ElementsAre("1:01", "2:10"));
  EXPECT_THAT(visit({0, 0}, 4), ElementsAre());
  EXPECT_THAT(visit({0, 0}, ~std::uint64_t{0}), ElementsAre());
}

TEST_F(ArrayReaderTest, ChunksThatHoldNoElementOfTheArrayAreLeftOut) {
  write_shard(whole_shard(), "c/0/1");
  EXPECT_THAT(visit({0, 1}), ElementsAre("0:02", "2:12"));
  EXPECT_EQ(read({0, 2}), "aaaa");
}

TEST_F(ArrayReaderTest, AnArrayWithoutShardsHasOneChunkInEachCell) {
  make_array({.codecs = R"({"name": "bytes"})"});
  directory.write("a/c/0/1", "0123456789abcdef");
  EXPECT_EQ(read({0, 1}), "0123456789abcdef");
  EXPECT_EQ(read({0, 0}), "-");
  EXPECT_THAT(visit({0, 1}), ElementsAre("0:01"));
  EXPECT_THAT(visit({0, 1}, 1), ElementsAre());
}

/// Shards of 4 x 4 hold inner shards of 2 x 4, which hold chunks of 2 x 2.
class NestedShards : public ArrayReaderTest {
 protected:
  void SetUp() override { make_array({.codecs = sharding("[2, 4]", "end", sharding("[2, 2]"))}); }
};

TEST_F(NestedShards, ChunksAreFoundThroughBothIndexes) {
  write_shard(ShardBytes(2)
                  .add(1, ShardBytes(2).add(0, "cccc").add(1, "dddd").text())
                  .add(0, ShardBytes(2).add(1, "bbbb").text()));
  EXPECT_EQ(read({1, 1}), "dddd");
  EXPECT_EQ(store->calls().count(StoreCall::kReadAt), 3);
  EXPECT_EQ(read({1, 0}), "cccc");
  EXPECT_EQ(store->calls().count(StoreCall::kReadAt), 4);
  EXPECT_EQ(read({0, 1}), "bbbb");
  EXPECT_EQ(read({0, 0}), "-");
  EXPECT_EQ(counters->index_reads, 3U);
  EXPECT_THAT(visit({0, 0}), ElementsAre("1:01", "2:10", "3:11"));
  EXPECT_THAT(visit({0, 0}, 2), ElementsAre("2:10", "3:11"));
  EXPECT_THAT(visit({0, 0}, 3), ElementsAre("3:11"));
}

TEST_F(NestedShards, ADamagedInnerIndexIsToldForEachChunkBelow) {
  write_shard(ShardBytes(2)
                  .add(0, ShardBytes(2).add(0, "aaaa").text())
                  .add(1, ShardBytes(2).add(0, "cccc").add(1, "dddd").with_bad_checksum().text()));
  EXPECT_THAT(visit({0, 0}), ElementsAre("0:00", "2:10!", "3:11!"));
  EXPECT_THAT(last_damage, HasSubstr("shard a/c/0/0: entry 1: "));
  EXPECT_THAT(visit({0, 0}, 3), ElementsAre("3:11!"));
  EXPECT_EQ(fault_of({1, 0}), Fault::kDamaged);
  EXPECT_EQ(read({0, 0}), "aaaa");
}

TEST_F(NestedShards, ADamagedEntryIsNamedThroughAllLevels) {
  write_shard(ShardBytes(2).add(0, ShardBytes(2).set(1, 50, 4).text()).set(1, 1000, 40));
  EXPECT_THAT(read({0, 1}), HasSubstr("shard a/c/0/0: entry 0, entry 1 [50, +4)"));
  EXPECT_THAT(read({1, 0}), HasSubstr("shard a/c/0/0: entry 1 [1000, +40)"));
  EXPECT_THAT(visit({0, 0}), ElementsAre("1:01!", "2:10!", "3:11!"));
}

TEST_F(ArrayReaderTest, AShardWithinACodecIsDecodedOnceAsAWhole) {
  make_array({.codecs = sharding("[2, 2]") + R"(, {"name": "crc32c"})"});
  std::string stored = whole_shard().text();
  Bytes checksum;
  append_little(checksum,
                crc32c({reinterpret_cast<const std::uint8_t*>(stored.data()), stored.size()}));
  stored.append(checksum.begin(), checksum.end());
  directory.write("a/c/0/0", stored);
  EXPECT_EQ(read({0, 0}), "aaaa");
  EXPECT_EQ(read({1, 1}), "dddd");
  EXPECT_EQ(store->calls().count(StoreCall::kReadAt), 1);
  EXPECT_EQ(counters->whole_shards, 1U);
  const auto chunk = reader->find_chunk(Chunk{0, 1});
  ASSERT_TRUE(chunk && *chunk);
  EXPECT_EQ((*chunk)->file, nullptr);
  EXPECT_THAT(visit({0, 0}, 2), ElementsAre("2:10", "3:11"));
  stored[0] = 'x';
  directory.write("a/c/0/0", stored + "y");
  EXPECT_EQ(fault_of({0, 0}), Fault::kDamaged);
}

TEST_F(ArrayReaderTest, ElementsOfAbsentChunksAreTheFillValue) {
  make_array({.type = "uint16",
              .fill = "258",
              .codecs = sharding("[2, 2]", "end",
                                 R"({"name": "bytes", "configuration": {"endian": "big"}})")});
  write_shard(ShardBytes(4).add(0, std::string("\0\1\0\2\0\3\0\4", 8)));
  EXPECT_EQ(reader->read_elements(Chunk{0, 0}), (Bytes{1, 0, 2, 0, 3, 0, 4, 0}));
  EXPECT_EQ(reader->read_elements(Chunk{0, 1}), (Bytes{2, 1, 2, 1, 2, 1, 2, 1}));
  write_shard(ShardBytes(4).add(0, "short"));
  const auto damaged = reader->read_elements(Chunk{0, 0});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().fault, Fault::kDamaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("a: chunk (0, 0): "));
}

TEST_F(ArrayReaderTest, StringsThatAreAbsentAreItemsOfTheFillValue) {
  make_array({.type = "string",
              .fill = "\"no\"",
              .codecs = sharding("[1, 2]", "end", R"({"name": "vlen-utf8"})")});
  EXPECT_EQ(reader->read_elements(Chunk{0, 0}),
            (Bytes{2, 0, 0, 0, 2, 0, 0, 0, 'n', 'o', 2, 0, 0, 0, 'n', 'o'}));
}

TEST_F(ArrayReaderTest, ManyThreadsReadOneShard) {
  write_shard(whole_shard());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        cache->drop("a/c/0/0");
        right += read({0, 0}) == "aaaa" && read({1, 0}) == "cccc" ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

class StandIn final : public Shard {
 public:
  StandIn(std::uint64_t inode, std::size_t memory) : memory_(memory) { identity_.inode = inode; }
  [[nodiscard]] FileIdentity identity() const override { return identity_; }
  [[nodiscard]] std::size_t memory() const override { return memory_; }

 private:
  FileIdentity identity_;
  std::size_t memory_;
};

class IndexCacheTest : public ::testing::Test {
 protected:
  void insert(const std::string& path, std::size_t memory) {
    cache.insert(path, std::make_shared<StandIn>(1, memory));
  }
  bool holds(const std::string& path, std::uint64_t inode = 1) {
    return cache.find(path, StandIn(inode, 0).identity()) != nullptr;
  }
  IndexCache cache{10'000};
};

TEST_F(IndexCacheTest, ForgetsWhatWasUsedLeastRecently) {
  insert("a", 4000);
  insert("b", 4000);
  EXPECT_TRUE(holds("a"));
  insert("c", 4000);
  EXPECT_TRUE(holds("a"));
  EXPECT_FALSE(holds("b"));
  EXPECT_TRUE(holds("c"));
  EXPECT_LE(cache.bytes(), 10'000U);
}

TEST_F(IndexCacheTest, KeepsTheNewestWhateverItsSize) {
  insert("a", 10);
  insert("large", 1'000'000);
  EXPECT_TRUE(holds("large"));
  EXPECT_FALSE(holds("a"));
  insert("b", 10);
  EXPECT_FALSE(holds("large"));
  EXPECT_TRUE(holds("b"));
}

TEST_F(IndexCacheTest, AnotherVersionOfTheFileIsNotFound) {
  insert("a", 10);
  EXPECT_FALSE(holds("a", 2));
  const std::size_t before = cache.bytes();
  insert("a", 10);
  EXPECT_EQ(cache.bytes(), before);
}

TEST_F(IndexCacheTest, DropForgetsInnerShardsToo) {
  for (const std::string path : {"a/c/0", "a/c/0//1", "a/c/0//1/2", "a/c/01", "a/c"}) {
    insert(path, 10);
  }
  cache.drop("a/c/0");
  EXPECT_FALSE(holds("a/c/0") || holds("a/c/0//1") || holds("a/c/0//1/2"));
  EXPECT_TRUE(holds("a/c/01") && holds("a/c"));
  cache.drop("nothing");
  cache.drop("a/c/01");
  cache.drop("a/c");
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace zarrfs
