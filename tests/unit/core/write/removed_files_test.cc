// Files of writes that another program removes: who syncs is told, and what can be kept is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/temp_dir.h"
#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

class RemovedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = make_store(Sharding::kIndexAtEnd);
    for (const char* name : {"zarr.json", "a/zarr.json"}) {
      directory_.write(name, (*made->read_document(name, 1U << 20U))->text);
    }
    store_ = *open_store(directory_.path(), LinkPolicy::kInside);
    writer_ = Writer::open(store_, quiet_options());
    ASSERT_NE(writer_, nullptr);
    ASSERT_TRUE(writer_->put(3, chunk_of(3)));
  }
  void remove_successors() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with(".zarrfs-next-")) found.push_back(entry);
    }
    ASSERT_FALSE(found.empty());
    for (const fs::path& path : found) fs::remove(path);
  }
  void expect_told() {
    const auto synced = writer_->sync(3);
    ASSERT_FALSE(synced);
    EXPECT_EQ(synced.error().fault, Fault::kIo);
    EXPECT_THAT(synced.error().message, HasSubstr("another program has removed it"));
  }

  TempDir directory_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Writer> writer_;
};

TEST_F(RemovedFiles, AreToldWhereTheWholeStoreWasRemoved) {
  fs::remove_all(directory_.path());
  expect_told();
}

TEST_F(RemovedFiles, AreToldWhereTheLogWasRemovedAndTheNextSyncWritesItAnew) {
  fs::remove(directory_ / ".zarrfs/log");
  expect_told();
  EXPECT_TRUE(writer_->sync(3));
  EXPECT_TRUE(fs::exists(directory_ / ".zarrfs/log"));
}

TEST_F(RemovedFiles, AreToldWhereAShardsNewChunksWereRemovedAndThoseAreKept) {
  remove_successors();
  expect_told();
  ASSERT_TRUE(writer_->commit(3));
  EXPECT_TRUE(fs::exists(directory_ / "a/c/0"));
  EXPECT_EQ(**writer_->read(3), chunk_of(3));
}

TEST_F(RemovedFiles, OfAShardAreMadeAnewWhereNobodySyncs) {
  remove_successors();
  const auto committed = writer_->commit(3);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_TRUE(fs::exists(directory_ / "a/c/0"));
  EXPECT_EQ(**writer_->read(3), chunk_of(3));
}

TEST_F(RemovedFiles, AreToldToWhoSyncsAgain) {
  ASSERT_TRUE(writer_->sync(3));
  remove_successors();
  expect_told();
  ASSERT_TRUE(writer_->commit(3));
  EXPECT_EQ(**writer_->read(3), chunk_of(3));
}

TEST_F(RemovedFiles, AreMadeAnewWhereTheirDirectoryWasRemovedToo) {
  fs::remove_all(directory_ / ".zarrfs");
  expect_told();
  EXPECT_TRUE(writer_->sync(3));
  EXPECT_TRUE(fs::exists(directory_ / ".zarrfs/log"));
}

TEST_F(RemovedFiles, OfAShardAreMadeAnewWhereItIsRewritten) {
  ASSERT_TRUE(writer_->commit(3));
  ASSERT_TRUE(writer_->put(5, chunk_of(5)));
  remove_successors();
  const auto committed = writer_->commit(5);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(**writer_->read(3), chunk_of(3));
  EXPECT_EQ(**writer_->read(5), chunk_of(5));
}

/// What was written twice is laid out anew, and the file of the drafts outlives the commit.
TEST(FailedSyncs, OfNewChunksAreNotTriedForEver) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_NE(writer, nullptr);
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
    ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
  }
  ASSERT_TRUE(writer->commit(0));
  std::string bad;
  store->fault = [&](const std::string& call, const std::string& path) {
    if (call == "write" && bad.empty() && path.find(".zarrfs-next-") != std::string::npos) {
      bad = path;
    }
    return call == "sync" && path == bad ? EIO : 0;
  };
  ASSERT_TRUE(writer->put(3, chunk_of(29)));
  ASSERT_TRUE(writer->put(3, chunk_of(30)));
  static_cast<void>(writer->commit(3));
  const auto committed = writer->commit(3);
  EXPECT_TRUE(committed) << committed.error().message;
  EXPECT_FALSE(bad.empty());
  EXPECT_EQ(*(*open_array(store)->find_chunk(std::vector<std::uint64_t>{3}))->read(), chunk_of(30));
}

}  // namespace
}  // namespace zarrfs::testing
