// Which shards exist, found by listing.
#include "core/chunks/shard_directory.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using Kind = ChunkKeyEncoding::Kind;
using Cells = std::vector<Coordinates>;

class CellDirectories : public ::testing::Test {
 protected:
  ShardDirectory cells(ChunkKeyEncoding keys, std::vector<std::uint64_t> counts) {
    return {*open_store(directory_.path(), LinkPolicy::kInside), "a", keys, std::move(counts),
            std::make_shared<ShardListings>(false)};
  }
  static Cells visited(ShardDirectory& cells, std::uint64_t first = 0) {
    Cells found;
    const auto done = cells.visit(first, [&found](const Coordinates& cell) {
      found.push_back(cell);
      return true;
    });
    EXPECT_TRUE(done);
    return found;
  }
  TempDir directory_;
};

TEST_F(CellDirectories, NestedKeysAreVisitedInOrderOfNumbers) {
  for (const char* key : {"c/10/2", "c/9/11", "c/9/3", "c/x/1", "c/9/12", "c/9/.hidden"}) {
    directory_.write(std::string("a/") + key, "");
  }
  ShardDirectory nested = cells({Kind::kDefault, '/'}, {11, 12});
  EXPECT_EQ(visited(nested), (Cells{{9, 3}, {9, 11}, {10, 2}}));
  EXPECT_EQ(visited(nested, 9 * 12 + 4), (Cells{{9, 11}, {10, 2}}));
  EXPECT_TRUE(visited(nested, 11 * 12).empty());
}

TEST_F(CellDirectories, FlatKeysAreVisitedInOrderOfNumbers) {
  for (const char* key : {"10.2", "9.11", "9.3", "zarr.json", "9", "9.3.1"}) {
    directory_.write(std::string("a/") + key, "");
  }
  ShardDirectory flat = cells({Kind::kV2, '.'}, {11, 12});
  EXPECT_EQ(visited(flat), (Cells{{9, 3}, {9, 11}, {10, 2}}));
  EXPECT_EQ(visited(flat, 9 * 12 + 11), (Cells{{9, 11}, {10, 2}}));
}

TEST_F(CellDirectories, CoordinatesAlongAnAxisAreThoseBelowTheFixedOnes) {
  for (const char* key : {"c/0/1", "c/0/4", "c/2/4", "c/3/0"}) {
    directory_.write(std::string("a/") + key, "");
  }
  ShardDirectory nested = cells({Kind::kDefault, '/'}, {5, 5});
  const std::vector<AxisRange> fixed = {{0, 2}};
  EXPECT_EQ(*nested.along_next_axis({}), (Coordinates{0, 2, 3}));
  EXPECT_EQ(*nested.along_next_axis(fixed), (Coordinates{1, 4}));
}

TEST_F(CellDirectories, AnAbsentArrayHasNoCells) {
  ShardDirectory nested = cells({Kind::kDefault, '/'}, {5, 5});
  EXPECT_TRUE(visited(nested).empty());
  EXPECT_TRUE(nested.along_next_axis({})->empty());
}

TEST_F(CellDirectories, ANewFileIsSeenAtOnce) {
  directory_.write("a/c/0/0", "");
  ShardDirectory nested = cells({Kind::kDefault, '/'}, {5, 5});
  EXPECT_EQ(visited(nested).size(), 1U);
  directory_.write("a/c/0/1", "");
  EXPECT_EQ(visited(nested).size(), 2U);
}

TEST_F(CellDirectories, AScalarHasOneCell) {
  directory_.write("a/c", "");
  ShardDirectory scalar = cells({Kind::kDefault, '/'}, {});
  EXPECT_EQ(visited(scalar), (Cells{{}}));
}

}  // namespace
}  // namespace zarrfs
