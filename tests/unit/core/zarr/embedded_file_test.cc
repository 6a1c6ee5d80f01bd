#include "core/zarr/embedded_file.h"

#include <gtest/gtest.h>

#include "core/zarr/tree.h"
#include "tests/support/memory_store.h"
#include "tests/support/shard_bytes.h"

namespace zarrfs {
namespace {

using testing::MemoryStore;

class EmbeddedFileTest : public ::testing::Test {
 protected:
  /// What is found in a shard of two chunks with `before` in front of them.
  std::string found_in(const std::string& before, const std::string& chunk = "abcd") {
    auto store = std::make_shared<MemoryStore>();
    EXPECT_TRUE(store->make_directory("a", 0755));
    EXPECT_TRUE(store->make_directory("a/c", 0755));
    EXPECT_TRUE(store->make_directory("a/c/0", 0755));
    store->write_file("a/zarr.json", array_document({.codecs = sharding("[2, 2]")}));
    ShardBytes shard(4);
    shard.add(0, chunk);
    shard.set(0, before.size(), chunk.size());
    store->write_file("a/c/0/0", before + shard.text());
    const auto node = load_node(*store, "a");
    EXPECT_TRUE(node && node->layout);
    ArrayReader array(store, "a", node->array, node->layout, std::make_shared<IndexCache>(1 << 20),
                      std::make_shared<ReadCounters>());
    const std::vector<std::uint64_t> cell{0, 0};
    const auto found = embedded_file_in(array, cell);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->value_or("nothing") : "error";
  }
};

const std::string kHdf5("\x89HDF\r\n\x1a\n");

TEST_F(EmbeddedFileTest, IsKnownByItsSignature) {
  EXPECT_EQ(found_in(kHdf5), "HDF5");
  EXPECT_EQ(found_in(std::string(512, '\0') + kHdf5), "HDF5") << "behind a user block";
  EXPECT_EQ(found_in(std::string(4096, 'x') + kHdf5), "HDF5");
  EXPECT_EQ(found_in(std::string("II*\0", 4)), "TIFF");
  EXPECT_EQ(found_in(std::string("MM\0*", 4)), "TIFF");
  EXPECT_EQ(found_in(std::string("II+\0", 4)), "TIFF");
}

TEST_F(EmbeddedFileTest, IsNothingThatAChunkHolds) {
  EXPECT_EQ(found_in(""), "nothing");
  EXPECT_EQ(found_in("", std::string("II*\0", 4)), "nothing") << "a chunk that looks like TIFF";
  EXPECT_EQ(found_in(std::string(100, '\0')), "nothing") << "padding";
  EXPECT_EQ(found_in(std::string(600, '\0') + kHdf5), "nothing") << "where HDF5 does not look";
}

}  // namespace
}  // namespace zarrfs
