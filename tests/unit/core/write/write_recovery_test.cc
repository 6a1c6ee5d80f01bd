// What an earlier writer left: of version 0.1.0, of a newer one, and beside arrays that were
// damaged, moved or removed meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/zarr/tree.h"
#include "tests/support/temp_dir.h"
#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The text of a chunk of an array of uint8; empty where there is none.
std::string chunk_text(const std::shared_ptr<Store>& store, const std::string& array,
                       std::uint64_t chunk) {
  const auto node = load_node(*store, array);
  if (!node || !node->layout) return "no array";
  ArrayReader reader(store, array, node->array, node->layout,
                     std::make_shared<IndexCache>(std::size_t{1} << 20U),
                     std::make_shared<ReadCounters>());
  const std::uint64_t coordinates[] = {chunk};
  const auto found = reader.find_chunk(coordinates);
  if (!found) return found.error().message;
  if (!*found) return "";
  const auto bytes = (*found)->read();
  return bytes ? std::string(bytes->begin(), bytes->end()) : bytes.error().message;
}

/// tests/golden/left_by_0.1.0: a mount of 0.1.0 was killed after it had published chunks 0 to 2
/// ("old N .."), and was then told to write 0 twice, 3, 5, 7 and, as 3 bytes that are no chunk, 6,
/// and to remove 1 and 7.
TEST(WriteRecovery, WhatVersion010LeftIsRecovered) {
  const TempDir directory;
  std::filesystem::copy(ZARRFS_SOURCE_DIR "/tests/golden/left_by_0.1.0", directory.path(),
                        std::filesystem::copy_options::recursive);
  const std::shared_ptr<Store> store = *open_store(directory.path(), LinkPolicy::kInside);
  const auto buffer = WriteBuffer::open(store, quiet_options());
  ASSERT_TRUE(buffer) << buffer.error().message;
  for (const std::string array : {"at_end", "at_start", "nested"}) {
    EXPECT_EQ(chunk_text(store, array, 0), "second 0") << array;
    EXPECT_EQ(chunk_text(store, array, 1), "") << array;
    EXPECT_EQ(chunk_text(store, array, 2), "old 2 ..") << array;
    EXPECT_EQ(chunk_text(store, array, 3), "new  3..") << array;
    EXPECT_EQ(chunk_text(store, array, 5), "new  5..") << array;
    EXPECT_EQ(chunk_text(store, array, 6), "") << array;
    EXPECT_EQ(chunk_text(store, array, 7), "") << array;
  }
  const auto left = (*buffer)->left();
  ASSERT_EQ(left.size(), 3U);
  for (const LeftDraft& one : left) EXPECT_THAT(one.chunk, ElementsAre(6));
}

/// A store whose writer was killed with a chunk that was put and one that was removed.
std::shared_ptr<MemoryStore> killed_store(Sharding sharding = Sharding::kIndexAtEnd) {
  const auto store = make_store(sharding);
  const auto writer = Writer::open(store, quiet_options());
  EXPECT_TRUE(writer->put(0, chunk_of(1)));
  EXPECT_TRUE(writer->put(4, chunk_of(4)));
  EXPECT_TRUE(writer->commit(4));
  EXPECT_TRUE(writer->remove(4));
  return store->after_kill();
}

TEST(WriteRecovery, ALogOfANewerVersionIsRefusedByName) {
  const auto store = killed_store();
  const std::string log = log_of(*store);
  Error error;
  std::string other_format = log;
  other_format[3] = '2';
  store->write_file(kLogPath, other_format);
  EXPECT_FALSE(Writer::open(store, quiet_options(), &error));
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("newer zarrfs"));
  EXPECT_THAT(error.message, HasSubstr("ZRF2"));

  Bytes body = {0, 0, 0, 0};  // a record of kind 9, whole
  append_little<std::uint64_t>(body, 0);
  append_little<std::uint64_t>(body, 1000);
  body.insert(body.end(), {9, 0, 0, 0, 0, 0, 0, 0});
  Bytes record = {'Z', 'R', 'F', '1'};
  append_little<std::uint32_t>(record, 8);
  append_little(record, crc32c(body));
  record.insert(record.end(), body.begin(), body.end());
  store->write_file(kLogPath, log + std::string(record.begin(), record.end()));
  EXPECT_FALSE(Writer::open(store, quiet_options(), &error));
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("kind 9"));
}

TEST(WriteRecovery, AChunkOfNoBytesIsRecovered) {
  for (const Sharding sharding : {Sharding::kIndexAtEnd, Sharding::kIndexAtStart}) {
    auto store = make_store(sharding);
    {
      const auto writer = Writer::open(store, quiet_options());
      ASSERT_TRUE(writer->put(0, chunk_of(1)));
      ASSERT_TRUE(writer->commit(0));
      ASSERT_TRUE(writer->put(0, Bytes(), true));
      store = store->after_kill();
    }
    const auto writer = Writer::open(store, quiet_options());
    ASSERT_TRUE(writer);
    EXPECT_EQ(*writer->read(0), Bytes()) << name_of(sharding);
  }
}

TEST(WriteRecovery, AnArrayThatIsGoneHoldsUpNoOther) {
  for (const bool whole : {true, false}) {
    const auto store = killed_store();
    store->write_file("b/zarr.json", (*store->read_document("a/zarr.json", 10000))->text);
    const auto list = *store->list("a/c");
    ASSERT_TRUE(list);
    for (const Entry& entry : *list) {
      if (whole) {
        ASSERT_TRUE(store->remove("a/c/" + entry.name));
      }
    }
    ASSERT_TRUE(store->remove("a/zarr.json"));
    WriteOptions options = quiet_options();
    std::vector<std::string> log;
    options.log = [&](bool, const std::string& line) { log.push_back(line); };
    const auto buffer = WriteBuffer::open(store, options);
    ASSERT_TRUE(buffer) << buffer.error().message;
    ASSERT_FALSE(log.empty());
    EXPECT_THAT(log.front(), HasSubstr("array a"));
    const auto left = (*buffer)->left();
    if (whole) {  // nothing of them is left
      EXPECT_THAT(left, IsEmpty());
      EXPECT_FALSE(store->files().contains(kLogPath));
    } else {  // their bytes are there: they wait
      ASSERT_FALSE(left.empty());
      EXPECT_EQ(left.front().array_path, "a");
    }
  }
}

TEST(WriteRecovery, WhatWaitsForADamagedDocumentComesBeforeTheNextWrite) {
  const auto store = killed_store();
  const std::string document = (*store->read_document("a/zarr.json", 10000))->text;
  store->write_file("a/zarr.json", "{");
  auto buffer = WriteBuffer::open(store, quiet_options());
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ((*buffer)->left().size(), 2U);
  EXPECT_TRUE(*has_unpublished(*store));
  store->write_file("a/zarr.json", document);
  const auto array = open_array(store);
  ASSERT_TRUE((*buffer)->put(array, {0}, 1, chunk_of(7)));
  ASSERT_TRUE((*buffer)->put(array, {1}, 1, chunk_of(8)));
  ASSERT_TRUE((*buffer)->close());
  EXPECT_THAT((*buffer)->left(), IsEmpty());
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}, {1, chunk_of(7)}, {5, chunk_of(8)}}));
}

TEST(WriteRecovery, WhatWaitsIsKeptForTheNextWriter) {
  const auto store = killed_store();
  const std::string document = (*store->read_document("a/zarr.json", 10000))->text;
  store->write_file("a/zarr.json", "{");
  {
    const auto buffer = WriteBuffer::open(store, quiet_options());
    ASSERT_TRUE(buffer);
    ASSERT_TRUE((*buffer)->close());
    EXPECT_EQ((*buffer)->left().size(), 2U);
  }
  store->write_file("a/zarr.json", document);
  ASSERT_TRUE(Writer::open(store, quiet_options()));
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(1)}}));
}

/// Drafts were being moved to a new successor when that failed, and the old one went on: of two
/// successors the later write counts, not the later successor.
TEST(WriteRecovery, OfTwoSuccessorsTheLaterWriteCounts) {
  auto store = make_store(Sharding::kIndexAtEnd);
  {
    WriteOptions options = quiet_options();
    options.most_dead_bytes = 8;
    const auto writer = Writer::open(store, options);
    ASSERT_TRUE(writer->put(0, chunk_of(1)));
    ASSERT_TRUE(writer->put(0, chunk_of(2)));
    int syncs = 0;
    bool failing = false;
    store->fault = [&](const std::string& call, const std::string& path) {
      failing = failing || (call == "sync" && path != kLogPath && syncs++ == 0);
      // The new successor cannot be synced, nor can the log say so.
      return failing ? EIO : 0;
    };
    static_cast<void>(writer->put(0, chunk_of(3)));
    store->fault = nullptr;
    ASSERT_TRUE(writer->put(0, chunk_of(4)));
    store = store->after_kill();
  }
  ASSERT_TRUE(Writer::open(store, quiet_options()));
  EXPECT_EQ(*published(store), (Chunks{{0, chunk_of(4)}}));
}

}  // namespace
}  // namespace zarrfs::testing
