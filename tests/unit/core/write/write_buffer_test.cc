#include "core/write/write_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/store/layer_store.h"
#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

using ::testing::HasSubstr;

/// As beside commits that delete the last shard of a directory: one that is to be made finds the
/// one above it gone, and one that was made is gone before a file is made in it.
class LosesEmptyDirectories final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  Result<void> make_directory(const std::string& path, mode_t mode) override {
    if (path != "a/c") return below().make_directory(path, mode);
    ++made;
    if (made == 1) return fail(Fault::kIo, path + ": the directory above it is gone");
    ZARRFS_CHECK(below().make_directory(path, mode));
    return made == 2 ? below().remove_directory(path) : Result<void>{};
  }

  int made = 0;
};

class WriteEach : public ::testing::TestWithParam<Sharding> {
 protected:
  std::shared_ptr<MemoryStore> store_ = make_store(GetParam());
  const std::set<std::string> before_ = store_->files();
};

INSTANTIATE_TEST_SUITE_P(All, WriteEach,
                         ::testing::Values(Sharding::kIndexAtEnd, Sharding::kIndexAtStart,
                                           Sharding::kNested, Sharding::kGzipAround,
                                           Sharding::kNone));

TEST_P(WriteEach, NothingIsMadeBeforeTheFirstWrite) {
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer);
  EXPECT_EQ(store_->files(), before_);
}

TEST_P(WriteEach, WhatWasPutIsReadAtOnceAndPublishedByClose) {
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  ASSERT_TRUE(writer->put(6, chunk_of(6)));
  EXPECT_EQ(*writer->read(1), chunk_of(1));
  EXPECT_TRUE(published(store_)->empty());
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(*published(store_), (Chunks{{1, chunk_of(1)}, {6, chunk_of(6)}}));
  for (const std::string& path : store_->files())
    EXPECT_EQ(path.find(".zarrfs"), std::string::npos) << path;
}

TEST_P(WriteEach, DirectoriesThatOtherCommitsRemoveAreMadeAgain) {
  const auto losing = std::make_shared<LosesEmptyDirectories>(store_);
  const auto writer = Writer::open(losing, quiet_options());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  EXPECT_EQ(losing->made, 3);
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(*published(store_), (Chunks{{1, chunk_of(1)}}));
}

TEST_P(WriteEach, WhatIsRemovedBeforeItIsPublishedLeavesNothing) {
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  ASSERT_TRUE(writer->remove(1));
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(store_->files(), before_);
  const auto entries = store_->list("a");
  ASSERT_TRUE(entries && *entries);
  EXPECT_EQ((*entries)->size(), 1U) << "directories were left beside zarr.json";
}

TEST_P(WriteEach, UnchangedChunksStay) {
  {
    const auto writer = Writer::open(store_, quiet_options());
    for (std::uint64_t chunk = 0; chunk < 8; ++chunk)
      ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
    ASSERT_TRUE(writer->buffer().close());
  }
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer->put(2, chunk_of(22)));
  ASSERT_TRUE(writer->put(2, chunk_of(222)));
  ASSERT_TRUE(writer->remove(3));
  EXPECT_FALSE(writer->read(3)->has_value());
  ASSERT_TRUE(writer->buffer().close());
  Chunks expected;
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) expected[chunk] = chunk_of(chunk);
  expected[2] = chunk_of(222);
  expected.erase(3);
  EXPECT_EQ(*published(store_), expected);
}

TEST_P(WriteEach, AShardWithoutChunksIsDeleted) {
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  ASSERT_TRUE(writer->commit(0));
  ASSERT_TRUE(writer->remove(0));
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(store_->files(), before_);
}

TEST_P(WriteEach, HeldDraftsAreReadableButNeverPublished) {
  {
    const auto writer = Writer::open(store_, quiet_options());
    ASSERT_TRUE(writer->put(0, chunk_of(1)));
    ASSERT_TRUE(writer->put(1, Bytes{1, 2}, true));
    EXPECT_EQ(writer->sync(1).error().fault, Fault::kInvalid);
    ASSERT_TRUE(writer->buffer().close());
    EXPECT_EQ(*writer->read(1), (Bytes{1, 2}));
    const auto left = writer->buffer().left();
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].chunk, (std::vector<std::uint64_t>{1}));
    EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(1)}}));
  }
  const auto writer = Writer::open(store_, quiet_options());
  EXPECT_EQ(*writer->read(1), (Bytes{1, 2}));
  ASSERT_TRUE(writer->put(1, chunk_of(5)));
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_TRUE(writer->buffer().left().empty());
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(1)}, {1, chunk_of(5)}}));
}

TEST_P(WriteEach, SurvivesTheDeathOfTheProcess) {
  {
    const auto writer = Writer::open(store_, quiet_options());
    ASSERT_TRUE(writer->put(0, chunk_of(1)));
    ASSERT_TRUE(writer->put(5, chunk_of(2)));
    ASSERT_TRUE(writer->put(5, chunk_of(3)));
    store_ = store_->after_kill();
  }
  EXPECT_TRUE(*has_unpublished(*store_));
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer);
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(1)}, {5, chunk_of(3)}}));
  EXPECT_FALSE(*has_unpublished(*store_));
}

TEST_P(WriteEach, AnotherProgramsShardIsMerged) {
  const auto writer = Writer::open(store_, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  const auto other = make_store(GetParam());
  {
    const auto foreign = Writer::open(other, quiet_options());
    ASSERT_TRUE(foreign->put(0, chunk_of(9)));
    ASSERT_TRUE(foreign->put(1, chunk_of(10)));
    ASSERT_TRUE(foreign->buffer().close());
  }
  for (const std::string& path : other->files()) {
    if (path.ends_with("zarr.json")) continue;
    const auto document = other->read_document(path, 1000);
    store_->write_file(path, (*document)->text);
  }
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(1)}, {1, chunk_of(10)}}));
}

/// A file of the same number, size and time.
TEST(WriteBuffer, AShardThatIsUnpackedOverTheOneThatIsMergedIsMerged) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  std::vector<Bytes> shards;
  for (const int value : {1, 2}) {
    ASSERT_TRUE(writer->put(0, chunk_of(value)));
    ASSERT_TRUE(writer->commit(0));
    shards.push_back((*store->open("a/c/0"))->read_range({0, 76}).value());
  }
  ASSERT_TRUE(writer->put(1, chunk_of(7)));
  bool unpacked = false;
  store->after = [&](const std::string& call, const std::string&) {
    if (call == "sync" && !std::exchange(unpacked, true)) store->unpack_over("a/c/0", shards[0]);
  };
  ASSERT_TRUE(writer->commit(1));
  EXPECT_TRUE(unpacked);
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}, {1, chunk_of(7)}}));
}

TEST(WriteBuffer, ACompleteShardIsDueAtOnceAQuietOneAfterItsTime) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  const auto begin = Clock::now();
  for (std::uint64_t chunk = 0; chunk < 5; ++chunk)
    ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
  writer->buffer().commit_due(begin);
  EXPECT_EQ(published(store)->size(), 4U);
  writer->buffer().commit_due(Clock::now() + std::chrono::seconds(6));
  EXPECT_EQ(published(store)->size(), 5U);
}

TEST(WriteBuffer, BytesOfACompleteShardAreWrittenOnce) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  for (std::uint64_t chunk = 0; chunk < 4; ++chunk)
    ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
  ASSERT_TRUE(writer->commit(0));
  EXPECT_EQ(writer->buffer().statistics().bytes_committed, 4 * 16 + 4U);  // only the index
}

TEST(WriteBuffer, ADamagedShardRefusesWritesAndIsKept) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  store->write_file(
      "a/c/0",
      "not a shard, though long enough to hold an index of four entries and a checksum, is it");
  const auto before = store->files();
  const auto writer = Writer::open(store, quiet_options());
  const auto written = writer->put(0, chunk_of(1));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().fault, Fault::kDamaged);
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(store->files(), before);
}

TEST(WriteBuffer, ADocumentThatCannotBeReadIsNoOtherArray) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const std::string document = (*store->read_document("a/zarr.json", 10000))->text;
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  store->write_file("a/zarr.json", "{");
  EXPECT_EQ(writer->commit(0).error().fault, Fault::kDamaged);
  store->write_file("a/zarr.json", document);
  ASSERT_TRUE(writer->commit(0));
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}}));
}

TEST(WriteBuffer, ASecondChangeDuringTheCommitIsMergedToo) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto other = make_store(Sharding::kIndexAtEnd);
  const auto foreign = Writer::open(other, quiet_options());
  ASSERT_TRUE(foreign->put(3, chunk_of(9)));
  ASSERT_TRUE(foreign->buffer().close());
  const std::string shard = (*other->read_document("a/c/0", 1000))->text;
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  bool replaced = false;
  store->after = [&](const std::string& call, const std::string&) {
    if (call == "sync" && !std::exchange(replaced, true)) store->write_file("a/c/0", shard);
  };
  ASSERT_TRUE(writer->commit(0));
  EXPECT_TRUE(replaced);
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}, {3, chunk_of(9)}}));
}

TEST(WriteBuffer, AShardThatIsAnotherFileAsWellIsNotWrittenTo) {
  constexpr std::size_t kIndex = 64;  // four entries, and a checksum behind them
  const auto store = make_store(Sharding::kIndexAtStart);
  ASSERT_TRUE(Writer::open(store, quiet_options())->put(5, chunk_of(3)));
  // An HDF5 file in the bytes that belong to nobody: its signature stands at 512.
  Bytes shard;
  append_little(shard, std::uint64_t{kIndex + 4});
  append_little(shard, std::uint64_t{chunk_of(1).size()});
  shard.resize(kIndex, 0xff);
  append_little(shard, crc32c(shard));
  const std::string hdf5("\x89HDF\r\n\x1a\n");
  for (const std::uint8_t byte : chunk_of(1)) shard.push_back(byte);
  shard.resize(512);
  shard.insert(shard.end(), hdf5.begin(), hdf5.end());
  store->write_file("a/c/0", std::string(shard.begin(), shard.end()));
  ASSERT_EQ((*published(store))[0], chunk_of(1));
  {
    const auto writer = Writer::open(store, quiet_options());
    for (const auto& refused : {writer->put(1, chunk_of(2)), writer->remove(0)}) {
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().fault, Fault::kReadOnly);
      EXPECT_THAT(refused.error().message, ::testing::HasSubstr("shard a/c/0 is a file of HDF5"));
    }
  }
  EXPECT_EQ((*published(store))[0], chunk_of(1));
}

TEST(WriteBuffer, ChangesAreToldAdditionsFirst) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  std::vector<std::string> told;
  WriteOptions options = quiet_options();
  options.changed = [&](const ChunkChanges& changes) -> Result<void> {
    const bool shard_there = store->files().contains("a/c/0");
    for (const auto& chunk : changes.added)
      told.push_back("+" + std::to_string(chunk[0]) + (shard_there ? " late" : " early"));
    for (const auto& chunk : changes.removed) told.push_back("-" + std::to_string(chunk[0]));
    return {};
  };
  const auto writer = Writer::open(store, options);
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  ASSERT_TRUE(writer->remove(2));
  ASSERT_TRUE(writer->commit(0));
  EXPECT_EQ(told, (std::vector<std::string>{"+1 early", "-2"}));
}

TEST(WriteBuffer, WhatTakesTheShardsPlaceIsToldBeforeItDoes) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto identity = [&] {
    const auto status = *store->status("a/c/0");
    return status ? identity_of(*status) : FileIdentity{};
  };
  std::vector<FileIdentity> told;
  std::vector<std::uint64_t> written;
  WriteOptions options = quiet_options();
  options.replacing = [&](const std::string&, const std::vector<std::uint64_t>&,
                          const FileIdentity& before, const FileIdentity& after,
                          const std::vector<std::pair<std::uint64_t, struct timespec>>& drafts) {
    EXPECT_EQ(identity(), before) << "it is replaced already";
    told.push_back(after);
    written.clear();
    for (const auto& [number, when] : drafts) written.push_back(number);
  };
  const auto writer = Writer::open(store, options);
  for (const std::uint64_t chunk : {0, 1}) {
    ASSERT_TRUE(writer->put(chunk, chunk_of(9)));
    ASSERT_TRUE(writer->commit(0));
    ASSERT_EQ(told.size(), chunk + 1);
    EXPECT_EQ(identity(), told.back());
    EXPECT_EQ(written, std::vector<std::uint64_t>{chunk});
  }
  ASSERT_TRUE(writer->remove(0));
  ASSERT_TRUE(writer->remove(1));
  ASSERT_TRUE(writer->commit(0));
  EXPECT_EQ(told.back(), FileIdentity{});
}

TEST(WriteBuffer, ALogBrokenInTheMiddleIsRefused) {
  auto store = make_store(Sharding::kIndexAtEnd);
  {
    const auto writer = Writer::open(store, quiet_options());
    ASSERT_TRUE(writer->put(0, chunk_of(1)));
    ASSERT_TRUE(writer->sync(0));
    ASSERT_TRUE(writer->put(1, chunk_of(2)));
    store = store->after_kill();
  }
  std::string log = log_of(*store);
  log[60] = static_cast<char>(log[60] ^ 1);
  store->write_file(kLogPath, log);
  Error error;
  EXPECT_FALSE(Writer::open(store, quiet_options(), &error));
  EXPECT_EQ(error.fault, Fault::kDamaged);
  EXPECT_THAT(error.message, HasSubstr("durable"));
}

TEST(WriteBuffer, ATornLogEndsAtTheLastWholeRecord) {
  auto store = make_store(Sharding::kIndexAtEnd);
  {
    const auto writer = Writer::open(store, quiet_options());
    ASSERT_TRUE(writer->put(0, chunk_of(1)));
    ASSERT_TRUE(writer->put(1, chunk_of(2)));
    store = store->after_kill();
  }
  const std::string log = log_of(*store);
  store->write_file(kLogPath, log.substr(0, log.size() - 20));
  ASSERT_TRUE(Writer::open(store, quiet_options()));
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}}));
}

}  // namespace
}  // namespace zarrfs::testing
