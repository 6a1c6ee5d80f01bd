// How much may be written and not committed: counted over all shards, also those that an earlier
// writer left; who is refused, and when there is room again. And what a sync that commits leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kChunk = 8;  // bytes of a chunk of the fixture

WriteOptions limited(std::uint64_t chunks) {
  WriteOptions options = quiet_options();
  options.most_unpublished = chunks * kChunk;
  return options;
}

/// No shard takes its name.
void refuse_commits(MemoryStore& store) {
  store.fault = [](const std::string& call, const std::string& path) {
    return call == "rename" && path.find("a/c/") != std::string::npos ? EIO : 0;
  };
}

void expect_full(const Result<void>& written) {
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().fault, Fault::kNoSpace);
  EXPECT_THAT(written.error().message, HasSubstr("spool_bytes"));
}

TEST(SpoolLimit, CommitsTheOldestShardFirst) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, limited(2));
  ASSERT_TRUE(writer->put(5, chunk_of(5)));
  ASSERT_TRUE(writer->put(0, chunk_of(0)));
  ASSERT_TRUE(writer->put(1, chunk_of(1)));
  EXPECT_EQ(*published(store), (Chunks{{5, chunk_of(5)}}));
}

TEST(SpoolLimit, RefusesWhatDoesNotFitAndKeepsWhatItHas) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, limited(2));
  refuse_commits(*store);
  ASSERT_TRUE(writer->put(0, chunk_of(10)));
  ASSERT_TRUE(writer->put(5, chunk_of(15)));
  expect_full(writer->put(0, chunk_of(20)));
  expect_full(writer->put(1, chunk_of(21)));
  EXPECT_EQ(*writer->read(0), chunk_of(10));
  EXPECT_EQ(*writer->read(5), chunk_of(15));
  store->fault = nullptr;
  ASSERT_TRUE(writer->commit(0));
  ASSERT_TRUE(writer->put(1, chunk_of(21)));
  ASSERT_TRUE(writer->buffer().close());
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(10)}, {1, chunk_of(21)}, {5, chunk_of(15)}}));
}

TEST(SpoolLimit, SaysThatAChunkIsLargerThanTheSpool) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  WriteOptions options = quiet_options();
  options.most_unpublished = kChunk - 1;
  const auto writer = Writer::open(store, options);
  expect_full(writer->put(0, chunk_of(1)));
  EXPECT_TRUE(writer->buffer().clean());
}

TEST(SpoolLimit, RemovingGivesRoomThoughNothingCanBeCommitted) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, limited(3));
  refuse_commits(*store);
  ASSERT_TRUE(writer->put(0, chunk_of(10)));
  ASSERT_TRUE(writer->put(1, chunk_of(11)));
  ASSERT_TRUE(writer->put(5, chunk_of(15)));
  expect_full(writer->put(2, chunk_of(12)));
  ASSERT_TRUE(writer->remove(1));
  ASSERT_TRUE(writer->put(2, chunk_of(12)));
  expect_full(writer->put(3, chunk_of(13)));
  const auto next = Writer::open(store->after_kill(), quiet_options());
  EXPECT_EQ(*next->read(0), chunk_of(10));
  EXPECT_EQ(*next->read(1), std::nullopt);
  EXPECT_EQ(*next->read(2), chunk_of(12));
}

TEST(SpoolLimit, AChunkCanBeWrittenAgainAndAgainThoughNothingCanBeCommitted) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, limited(2));
  refuse_commits(*store);
  for (std::uint64_t value = 0; value < 20; ++value) {
    ASSERT_TRUE(writer->put(0, chunk_of(value)));
    ASSERT_EQ(*writer->read(0), chunk_of(value));
  }
}

TEST(SpoolLimit, CountsWhatAnEarlierWriterLeft) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  for (const std::uint64_t chunk : {0U, 1U, 5U}) ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
  const auto killed = store->after_kill();
  refuse_commits(*killed);
  const auto next = Writer::open(killed, limited(3));
  ASSERT_TRUE(next);
  expect_full(next->put(2, chunk_of(2)));
  killed->fault = nullptr;
  ASSERT_TRUE(next->buffer().commit_below(""));
  EXPECT_TRUE(next->put(2, chunk_of(2)));
}

TEST(SpoolLimit, CountsWhatWaitsForItsArray) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(0)));
  ASSERT_TRUE(writer->put(5, chunk_of(5)));
  const auto killed = store->after_kill();
  killed->write_file("a/zarr.json", "{");  // it cannot be read
  const auto reader = open_array(store);
  auto buffer = WriteBuffer::open(killed, limited(2));
  ASSERT_TRUE(buffer);
  EXPECT_EQ((*buffer)->statistics().drafts, 0U);
  const auto refused = (*buffer)->put(reader, {1}, 3, chunk_of(1));
  expect_full(refused);
}

TEST(SpoolLimit, ThreadsDoNotPassItTogether) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, limited(2));
  refuse_commits(*store);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
    threads.emplace_back([&, chunk] { taken += writer->put(chunk, chunk_of(chunk)) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(writer->buffer().statistics().drafts, 2U);
}

TEST(SpoolLimit, ThreadsWaitForEachOtherWhereThereWillBeRoom) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  const auto writer = Writer::open(store, limited(1));
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
    threads.emplace_back([&, chunk] {
      for (std::uint64_t value = 0; value < 5; ++value) {
        refused += writer->put(chunk, chunk_of(value + chunk)) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

TEST(CommitAtSync, IsDurableHereWhereTheCommitFails) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  WriteOptions options = quiet_options();
  options.commit_at_sync = true;
  const auto writer = Writer::open(store, options);
  refuse_commits(*store);
  ASSERT_TRUE(writer->put(0, chunk_of(7)));
  const auto synced = writer->sync(0);
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().fault, Fault::kIo);
  const auto cut = store->after_power_cut([](std::size_t) { return false; });
  const auto next = Writer::open(cut, quiet_options());
  EXPECT_EQ(*next->read(0), chunk_of(7));
  store->fault = nullptr;
  ASSERT_TRUE(writer->sync(0));
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(7)}}));
}

TEST(CommitAtSync, OfADirectoryCommitsAllShards) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  WriteOptions options = quiet_options();
  options.commit_at_sync = true;
  const auto writer = Writer::open(store, options);
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  ASSERT_TRUE(writer->put(5, chunk_of(2)));
  ASSERT_TRUE(writer->buffer().sync_below("a"));
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}, {5, chunk_of(2)}}));
}

}  // namespace
}  // namespace zarrfs::testing
