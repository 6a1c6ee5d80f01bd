// Node numbers, versions of shards, and the table of named nodes.
#include <gtest/gtest.h>

#include "core/chunks/shard_versions.h"
#include "core/names/inode_table.h"
#include "core/view/node_id.h"

namespace zarrfs {
namespace {

TEST(NodeNumbers, RangesOfTwoVersionsNeverMeet) {
  NodeNumbers numbers;
  const NodeId first = *numbers.range_of("a", 7, 0, 100);
  const NodeId second = *numbers.range_of("a", 7, 1, 100);
  EXPECT_GE(second, first + 100);
  EXPECT_EQ(*numbers.range_of("a", 7, 0, 100), first);
  const auto found = numbers.find(second + 99);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->array_path, "a");
  EXPECT_EQ(found->version, 1U);
  EXPECT_EQ(found->offset, 99U);
}

TEST(NodeNumbers, NumbersOutsideEveryRangeAreUnknown) {
  NodeNumbers numbers;
  EXPECT_FALSE(numbers.find(kFirstChunkNode));
  const NodeId base = *numbers.range_of("a", 0, 0, 10);
  EXPECT_FALSE(numbers.find(base - 1));
  EXPECT_FALSE(numbers.find(base + 10));
}

TEST(NodeNumbers, ExhaustionIsAnErrorAndNotAWrap) {
  NodeNumbers numbers;
  ASSERT_TRUE(numbers.range_of("a", 0, 0, (NodeId{1} << 63U) - kFirstChunkNode - 2));
  const auto more = numbers.range_of("b", 0, 0, 10);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().fault, Fault::kUnsupported);
}

TEST(Inodes, AreStableAndDistinct) {
  EXPECT_EQ(inode_of(""), 1U);
  EXPECT_EQ(inode_of("a/b"), inode_of("a/b"));
  EXPECT_NE(inode_of("a/b"), inode_of("a/c"));
  EXPECT_NE(inode_of("a", 0), inode_of("a", 1));
  EXPECT_NE(inode_of("a", 0), inode_of("b", 0));
}

std::uint64_t version(ShardVersions& versions, std::uint64_t object, std::uint64_t digest,
                      std::uint64_t chunk = 0) {
  return versions.version_of(object, 1000 + chunk, {digest, {}}).version;
}

TEST(ShardVersions, AChangedShardGetsAnotherVersionAndOthersKeepTheirs) {
  ShardVersions versions;
  EXPECT_EQ(version(versions, 1, 100), 0U);
  EXPECT_EQ(version(versions, 2, 200), 0U);
  EXPECT_EQ(version(versions, 1, 101), 1U);
  EXPECT_EQ(version(versions, 1, 101), 1U);
  EXPECT_EQ(version(versions, 2, 200), 0U);
}

TEST(ShardVersions, ForgettingNeverBringsAnOldVersionBack) {
  ShardVersions versions(2);
  version(versions, 1, 100);
  version(versions, 1, 101);
  version(versions, 2, 200);
  EXPECT_EQ(version(versions, 3, 300), 2U);
  EXPECT_EQ(version(versions, 1, 100), 2U);
}

TEST(ShardVersions, AWrittenChunkGetsAnotherVersionAndItsNeighboursKeepTheirs) {
  ShardVersions versions;
  version(versions, 1, 100, 1);
  versions.written(1, 1001, {7, 0});
  EXPECT_EQ(version(versions, 1, 100, 1), 1U);
  EXPECT_EQ(version(versions, 1, 100, 2), 0U);
  versions.written(1, 1001, {8, 0});
  EXPECT_EQ(versions.version_of_draft(1, 1001, {}).version, 2U);
}

TEST(ShardVersions, ACommitOfOurOwnChangesNeitherVersionNorTime) {
  ShardVersions versions;
  EXPECT_EQ(versions.version_of(1, 1002, {100, {5, 0}}).modified.tv_sec, 5);
  versions.written(1, 1001, {7, 0});
  versions.republished(1, 100, 101);
  EXPECT_EQ(version(versions, 1, 101, 1), 1U);
  EXPECT_EQ(versions.version_of(1, 1001, {101, {9, 0}}).modified.tv_sec, 7);
  EXPECT_EQ(versions.version_of(1, 1002, {101, {9, 0}}).modified.tv_sec, 5);
  EXPECT_EQ(versions.version_of(1, 1002, {101, {9, 0}}).version, 0U);
}

TEST(ShardVersions, DuringACommitBothShardsHaveTheSameVersion) {
  ShardVersions versions;
  version(versions, 1, 100);
  versions.written(1, 1001, {7, 0});
  versions.replacing(1, 100, 101);
  for (const std::uint64_t digest : {100, 101, 100}) {
    EXPECT_EQ(version(versions, 1, digest, 1), 1U);
    EXPECT_EQ(version(versions, 1, digest, 2), 0U);
  }
  versions.republished(1, 100, 101);
  EXPECT_EQ(version(versions, 1, 101, 1), 1U);
  EXPECT_EQ(version(versions, 1, 100, 2), 2U) << "the old shard, put back by somebody";
}

TEST(ShardVersions, ACommitThatFailsChangesNoVersion) {
  ShardVersions versions;
  version(versions, 1, 100);
  versions.replacing(1, 100, 101);
  EXPECT_EQ(version(versions, 1, 100), 0U);
  EXPECT_EQ(version(versions, 1, 102), 1U);
  EXPECT_EQ(version(versions, 1, 101), 2U);
}

TEST(ShardVersions, AnotherProgramsShardGivesAllItsChunksANewVersion) {
  ShardVersions versions;
  version(versions, 1, 100);
  versions.written(1, 1001, {7, 0});
  EXPECT_EQ(version(versions, 1, 101, 1), 2U);
  EXPECT_EQ(version(versions, 1, 101, 2), 2U);
}

TEST(InodeTable, ANodeKeepsItsNumberUntilEveryLookupIsForgotten) {
  InodeTable table;
  const NamedNode node{NamedNode::Kind::kDocument, "a/.zarray", 5};
  const NodeId id = table.look_up(node);
  EXPECT_EQ(table.look_up(node), id);
  table.forget(id, 1);
  ASSERT_TRUE(table.find(id));
  EXPECT_EQ(table.find(id)->path, "a/.zarray");
  table.forget(id, 1);
  EXPECT_FALSE(table.find(id));
  EXPECT_NE(table.look_up(node), id);
}

TEST(InodeTable, OtherContentsAreAnotherNode) {
  InodeTable table;
  const NodeId id = table.look_up({NamedNode::Kind::kDocument, "a/.zarray", 5});
  EXPECT_NE(table.look_up({NamedNode::Kind::kDocument, "a/.zarray", 6}), id);
}

TEST(InodeTable, TheRootStays) {
  InodeTable table;
  table.forget(kRootNode, 1000);
  ASSERT_TRUE(table.find(kRootNode));
  EXPECT_EQ(table.find(kRootNode)->path, "");
}

}  // namespace
}  // namespace zarrfs
