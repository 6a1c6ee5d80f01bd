// What the write path may use: room on the storage, the length of the log, descriptors; and what
// one bad chunk, or an array that another program moves, may not touch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "core/log/lock.h"
#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMany = 200;

/// Bytes of all successors.
std::uint64_t bytes_of_successors(MemoryStore& store) {
  std::uint64_t bytes = 0;
  for (const std::string& path : store.files()) {
    if (path.find(kSuccessorPrefix) == std::string::npos) continue;
    bytes += static_cast<std::uint64_t>((*store.status(path))->st_size);
  }
  return bytes;
}

class WriteLimitsEach : public ::testing::TestWithParam<Sharding> {
 protected:
  std::shared_ptr<MemoryStore> store_ = make_store(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, WriteLimitsEach,
                         ::testing::Values(Sharding::kIndexAtEnd, Sharding::kIndexAtStart,
                                           Sharding::kNested, Sharding::kGzipAround,
                                           Sharding::kNone));

TEST_P(WriteLimitsEach, AChunkThatIsWrittenAgainAndAgainKeepsLittleRoom) {
  WriteOptions options = quiet_options();
  options.most_dead_bytes = 64;
  const auto writer = Writer::open(store_, options);
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  for (std::uint64_t value = 0; value < kMany; ++value) {
    ASSERT_TRUE(writer->put(0, chunk_of(value)));
    ASSERT_LE(bytes_of_successors(*store_), 64 + 100 + 4 * 8U);
    ASSERT_EQ(*writer->read(0), chunk_of(value));
    ASSERT_EQ(*writer->read(1), chunk_of(1));
  }
  const auto crashed = store_->after_kill();
  ASSERT_TRUE(Writer::open(crashed, quiet_options()));
  EXPECT_EQ(published(crashed)->at(0), chunk_of(kMany - 1));
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(kMany - 1)}, {1, chunk_of(1)}}));
}

TEST_P(WriteLimitsEach, TheLogStaysShortWhileAChunkIsQuarantined) {
  WriteOptions options = quiet_options();
  options.long_log = 2000;
  const auto writer = Writer::open(store_, options);
  ASSERT_TRUE(writer->put(0, Bytes{1}, true));
  for (std::uint64_t value = 0; value < kMany; ++value) {
    ASSERT_TRUE(writer->put(5, chunk_of(value)));
    ASSERT_TRUE(writer->commit(5));
    ASSERT_LE(writer->buffer().statistics().log_bytes, 4000U);
  }
  const auto crashed = store_->after_kill();
  const auto next = Writer::open(crashed, quiet_options());
  ASSERT_TRUE(next);
  EXPECT_EQ(*next->read(0), Bytes{1});
  EXPECT_EQ(*published(crashed), (Chunks{{5, chunk_of(kMany - 1)}}));
}

TEST_P(WriteLimitsEach, WritesAndRemovalsOfOneShardKeepTheLogShort) {
  WriteOptions options = quiet_options();
  options.long_log = 2000;
  options.most_dead_records = 16;
  const auto writer = Writer::open(store_, options);
  for (std::uint64_t value = 0; value < kMany; ++value) {
    ASSERT_TRUE(writer->put(0, chunk_of(value)));
    ASSERT_TRUE(writer->remove(0));
    ASSERT_LE(writer->buffer().statistics().log_bytes, 8000U);
  }
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_THAT(*published(store_), IsEmpty());
}

TEST_P(WriteLimitsEach, MoreShardsAreDirtyThanSuccessorsOpen) {
  WriteOptions options = quiet_options();
  options.open_successors = 1;
  const auto writer = Writer::open(store_, options);
  Chunks expected;
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (const std::uint64_t chunk : {0, 4, 1, 5}) {
      expected[chunk] = chunk_of(10 * round + chunk);
      ASSERT_TRUE(writer->put(chunk, expected[chunk]));
      for (const auto& [known, value] : expected) ASSERT_EQ(*writer->read(known), value);
    }
  }
  for (const std::uint64_t chunk : {0, 4}) ASSERT_TRUE(writer->sync(chunk));
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(*published(store_), expected);
}

TEST(WriteLimits, AQuarantinedChunkFailsItsOwnFsyncOnly) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, Bytes{1}, true));
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  EXPECT_EQ(writer->sync(0).error().fault, Fault::kInvalid);
  EXPECT_TRUE(writer->sync(1));
  EXPECT_TRUE(writer->sync(2));
  EXPECT_TRUE(writer->buffer().sync_below("a"));
  const auto crashed = store->after_power_cut([](std::size_t) { return false; });
  const auto next = Writer::open(crashed, quiet_options());
  EXPECT_EQ(*next->read(0), Bytes{1});
  EXPECT_EQ(*next->read(1), chunk_of(1));
}

TEST(WriteLimits, ACommitThatFailedFailsFsyncsBelowItOnly) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  store->write_file("b/zarr.json", (*store->read_document("a/zarr.json", 10000))->text);
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  store->fault = [](const std::string& call, const std::string& path) {
    return call == "rename" && path == "a/c/0" ? EIO : 0;
  };
  EXPECT_FALSE(writer->commit(0));
  EXPECT_FALSE(writer->buffer().sync_below("a"));
  EXPECT_FALSE(writer->buffer().sync_below(""));
  EXPECT_FALSE(writer->sync(0));
  EXPECT_TRUE(writer->sync(1));
  EXPECT_TRUE(writer->buffer().sync_below("b"));
}

TEST(WriteLimits, WhatIsStillToBePublishedIsNotLeftBehind) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  EXPECT_THAT(writer->buffer().left(), IsEmpty());
  store->fault = [](const std::string& call, const std::string&) {
    return call == "rename" ? EIO : 0;
  };
  EXPECT_FALSE(writer->commit(0));
  EXPECT_EQ(writer->buffer().left().size(), 1U);
}

TEST(WriteLimits, AWriteThatFindsTheStorageFullGivesBackTheRoomOfRemovedChunks) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  for (const std::uint64_t chunk : {4, 5, 6, 7}) ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
  ASSERT_TRUE(writer->commit(4));
  store->fault = [&](const std::string& call, const std::string& path) {
    const bool full = store->files().contains("a/c/1");
    return full && call == "write" && path != kLogPath ? ENOSPC : 0;
  };
  EXPECT_EQ(writer->put(0, chunk_of(1)).error().fault, Fault::kNoSpace);
  for (const std::uint64_t chunk : {4, 5, 6, 7}) ASSERT_TRUE(writer->remove(chunk));
  const auto written = writer->put(0, chunk_of(1));
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_FALSE(store->files().contains("a/c/1"));
}

/// Another program moves the array at each moment of a put and a commit.
TEST(WriteLimits, AnArrayThatAnotherProgramMovesGivesErrors) {
  for (const Sharding sharding : {Sharding::kIndexAtEnd, Sharding::kNested, Sharding::kNone}) {
    bool reached = true;
    for (int moment = 0; reached; ++moment) {
      const auto store = make_store(sharding);
      store->write_file("b/zarr.json", (*store->read_document("a/zarr.json", 10000))->text);
      const auto writer = Writer::open(store, quiet_options());
      int calls = 0;
      reached = false;
      store->after = [&](const std::string&, const std::string&) {
        if (calls++ != moment) return;
        reached = true;
        ASSERT_TRUE(store->rename("a", "moved"));
      };
      static_cast<void>(writer->put(0, chunk_of(1)));
      static_cast<void>(writer->put(0, chunk_of(2)));
      static_cast<void>(writer->commit(0));
      static_cast<void>(writer->put(1, chunk_of(3)));
      static_cast<void>(writer->put(4, chunk_of(4)));
      static_cast<void>(writer->read(0));
      store->after = nullptr;
      static_cast<void>(writer->buffer().close());
      for (const LeftDraft& left : writer->buffer().left()) EXPECT_EQ(left.array_path, "a");
      const auto next = WriteBuffer::open(store->after_kill(), quiet_options());
      ASSERT_TRUE(next) << next.error().message;
    }
  }
}

}  // namespace
}  // namespace zarrfs::testing
