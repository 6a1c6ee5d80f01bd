// Node numbers, versions of shards, and the table of named nodes.
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

#include "core/chunks/shard_versions.h"
#include "core/names/inode_table.h"
#include "core/view/node_numbers.h"

namespace zarrfs {
namespace {

constexpr NodeId kAllNodes = (NodeId{1} << 63U) - kFirstChunkNode;

TEST(NodeNumbers, TwoVersionsNeverHaveTheSameNumber) {
  NodeNumbers numbers;
  const auto range = *numbers.range_of("a", 7, 100, true);
  EXPECT_GE(range->node(1, 0), range->node(0, 99) + 1);
  EXPECT_EQ(*numbers.range_of("a", 7, 100, true), range);
  const auto found = numbers.find(range->node(1, 99));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->array_path, "a");
  EXPECT_EQ(found->generation, 7U);
  EXPECT_EQ(found->tag, range->tag_of(1));
  EXPECT_EQ(found->offset, 99U);
}

TEST(NodeNumbers, ATagIsWhatFitsOfAVersion) {
  NodeNumbers numbers;
  const auto range = *numbers.range_of("a", 7, 100, true);
  const std::uint64_t digest = 0xFEDCBA9876543210U;
  const auto found = numbers.find(range->node(digest, 5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tag, range->tag_of(digest));
  EXPECT_EQ(found->offset, 5U);
  EXPECT_NE(range->tag_of(digest), range->tag_of(digest + 1));
}

TEST(NodeNumbers, NumbersOutsideEveryRangeAreUnknown) {
  NodeNumbers numbers;
  EXPECT_FALSE(numbers.find(kFirstChunkNode));
  const auto range = *numbers.range_of("a", 0, 10, false);
  EXPECT_FALSE(numbers.find(range->first() - 1));
  EXPECT_EQ(range->end(), range->first() + 10);
  EXPECT_FALSE(numbers.find(range->end()));
}

TEST(NodeNumbers, ExhaustionIsAnErrorAndNotAWrap) {
  NodeNumbers numbers;
  ASSERT_TRUE(numbers.range_of("a", 0, kAllNodes - 2, false));
  const auto more = numbers.range_of("b", 0, 10, false);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().fault, Fault::kUnsupported);
}

TEST(NodeNumbers, AreFreeAgainWhenTheKernelHasForgottenTheDirectory) {
  NodeNumbers numbers;
  NodeId first = 0;
  for (int round = 0; round < 100; ++round) {
    auto range = *numbers.range_of("a", round, kAllNodes / 4, false);
    NodeNumbers::give(*range);
    if (round == 0) first = range->first();
    EXPECT_EQ(range->first(), first);
    range.reset();
    numbers.forgotten("a");
    EXPECT_EQ(numbers.size(), 0U);
  }
}

TEST(NodeNumbers, WhatIsInUseStays) {
  NodeNumbers numbers;
  const auto held = *numbers.range_of("a", 0, 10, true);
  NodeNumbers::give(*held);
  numbers.forgotten("a");
  EXPECT_TRUE(numbers.find(held->first()));
  EXPECT_EQ(*numbers.range_of("a", 0, 10, true), held);
}

TEST(NodeNumbers, WhatAMovedDirectoryHadStaysUntilItIsForgottenByItsNewName) {
  NodeNumbers numbers;
  auto range = *numbers.range_of("g/a", 0, 10, true);
  NodeNumbers::give(*range);
  const NodeId node = range->first();
  range.reset();
  numbers.moved("g", "h");
  numbers.forgotten("g/a");
  ASSERT_TRUE(numbers.find(node));
  EXPECT_EQ(numbers.find(node)->array_path, "g/a") << "its nodes are stale";
  numbers.forgotten("h/a");
  EXPECT_FALSE(numbers.find(node));
}

TEST(NodeNumbers, AnArrayThatIsResizedAMillionTimesTakesAsMuchAsOneOfAThousand) {
  NodeNumbers numbers;
  NodeId last = 0;
  for (std::uint64_t generation = 0; generation < 1'000'000; ++generation) {
    auto range = numbers.range_of("a", generation, std::uint64_t{1} << 20U, true);
    ASSERT_TRUE(range) << generation << ": " << range.error().message;
    NodeNumbers::give(**range);
    last = (*range)->first();
  }
  EXPECT_EQ(numbers.size(), NodeNumbers::kMostGenerations);
  EXPECT_TRUE(numbers.find(last));
  numbers.forgotten("a");
  EXPECT_EQ(numbers.size(), 0U);
  EXPECT_EQ((*numbers.range_of("b", 0, 1, true))->first(), kFirstChunkNode) << "all are free again";
}

TEST(NodeNumbers, ArraysOfWhichNoChunkWasLookedUpAreForgotten) {
  NodeNumbers numbers;
  for (int array = 0; array < 100'000; ++array) {
    ASSERT_TRUE(numbers.range_of("a" + std::to_string(array), 0, 1000, true));
  }
  EXPECT_LT(numbers.size(), 2000U);
}

TEST(Inodes, AreStableAndDistinct) {
  EXPECT_EQ(inode_of(""), 1U);
  EXPECT_EQ(inode_of("a/b"), inode_of("a/b"));
  EXPECT_NE(inode_of("a/b"), inode_of("a/c"));
  EXPECT_NE(inode_of("a", 0), inode_of("a", 1));
  EXPECT_NE(inode_of("a", 0), inode_of("b", 0));
}

FileIdentity file(std::uint64_t number, std::int64_t seconds = 5) {
  return {1, number, 100, seconds * 1'000'000'000};
}

ShardState state_of(const FileIdentity& identity) {
  struct timespec modified {};
  modified.tv_sec = static_cast<time_t>(identity.mtime_ns / 1'000'000'000);
  return {digest_of(identity), modified};
}

constexpr ShardVersions::Key kShard{7, 1};
constexpr ShardVersions::Key kOther{7, 2};

std::uint64_t version(ShardVersions& versions, ShardVersions::Key shard,
                      const FileIdentity& identity, std::uint64_t chunk = 0) {
  return versions.version_of(shard, chunk, state_of(identity)).version;
}

TEST(ShardVersions, AChangedShardGetsAnotherVersionAndNothingIsKept) {
  ShardVersions versions;
  const std::uint64_t first = version(versions, kShard, file(100));
  EXPECT_NE(version(versions, kShard, file(101)), first);
  EXPECT_EQ(version(versions, kShard, file(100)), first);
  EXPECT_EQ(versions.kept(), 0U);
}

TEST(ShardVersions, AWrittenChunkGetsAnotherVersionAndItsNeighboursKeepTheirs) {
  ShardVersions versions;
  const std::uint64_t before = version(versions, kShard, file(100), 1);
  versions.written(kShard, 1, {7, 0});
  const std::uint64_t once = version(versions, kShard, file(100), 1);
  EXPECT_NE(once, before);
  EXPECT_EQ(version(versions, kShard, file(100), 2), before);
  versions.written(kShard, 1, {8, 0});
  EXPECT_NE(versions.version_of_draft(kShard, 1, {}).version, once);
}

TEST(ShardVersions, ACommitOfOurOwnChangesNeitherVersionNorTime) {
  ShardVersions versions;
  const std::uint64_t before = version(versions, kShard, file(100, 5), 2);
  versions.written(kShard, 1, {7, 0});
  const std::uint64_t written = version(versions, kShard, file(100, 5), 1);
  versions.replacing(kShard, file(100, 5), file(101, 9), {});
  versions.republished(kShard, file(100, 5), file(101, 9));
  EXPECT_EQ(version(versions, kShard, file(101, 9), 1), written);
  EXPECT_EQ(versions.version_of(kShard, 1, state_of(file(101, 9))).modified.tv_sec, 7);
  EXPECT_EQ(versions.version_of(kShard, 2, state_of(file(101, 9))).modified.tv_sec, 5);
  EXPECT_EQ(version(versions, kShard, file(101, 9), 2), before);
}

TEST(ShardVersions, ACommitKeepsVersionsThoughNobodyAskedSinceTheWrite) {
  ShardVersions versions;
  const std::uint64_t before = version(versions, kShard, file(100, 5), 2);
  versions.written(kShard, 1, {7, 0});
  versions.replacing(kShard, file(100, 5), file(101, 9), {});
  versions.republished(kShard, file(100, 5), file(101, 9));
  EXPECT_EQ(version(versions, kShard, file(101, 9), 2), before);
  EXPECT_EQ(versions.version_of(kShard, 2, state_of(file(101, 9))).modified.tv_sec, 5);
}

TEST(ShardVersions, DuringACommitBothShardsHaveTheSameVersion) {
  ShardVersions versions;
  versions.written(kShard, 1, {7, 0});
  const std::uint64_t written = version(versions, kShard, file(100), 1);
  const std::uint64_t other = version(versions, kShard, file(100), 2);
  versions.replacing(kShard, file(100), file(101), {});
  for (const std::uint64_t number : {100, 101, 100}) {
    EXPECT_EQ(version(versions, kShard, file(number), 1), written);
    EXPECT_EQ(version(versions, kShard, file(number), 2), other);
  }
  versions.republished(kShard, file(100), file(101));
  EXPECT_EQ(version(versions, kShard, file(101), 1), written);
  EXPECT_NE(version(versions, kShard, file(100), 2), other)
      << "the old shard, put back by somebody";
}

TEST(ShardVersions, ACommitThatFailsChangesNoVersion) {
  ShardVersions versions;
  const std::uint64_t before = version(versions, kShard, file(100));
  versions.written(kShard, 1, {7, 0});
  versions.replacing(kShard, file(100), file(101), {});
  EXPECT_EQ(version(versions, kShard, file(100)), before);
  const std::uint64_t others = version(versions, kShard, file(102));
  EXPECT_NE(others, before);
  EXPECT_NE(version(versions, kShard, file(101)), others);
}

TEST(ShardVersions, AnotherProgramsShardGivesAllItsChunksANewVersion) {
  ShardVersions versions;
  versions.written(kShard, 1, {7, 0});
  const std::uint64_t written = version(versions, kShard, file(100), 1);
  const std::uint64_t other = version(versions, kShard, file(100), 2);
  EXPECT_NE(version(versions, kShard, file(101), 1), written);
  EXPECT_NE(version(versions, kShard, file(101), 2), other);
  EXPECT_NE(version(versions, kShard, file(100), 1), written) << "it came back";
  EXPECT_NE(version(versions, kShard, file(100), 2), other);
}

TEST(ShardVersions, ForgettingNeverBringsAnOldVersionBack) {
  ShardVersions versions(4);
  const std::uint64_t before = version(versions, kShard, file(100), 1);
  versions.written(kShard, 1, {7, 0});
  const std::uint64_t written = version(versions, kShard, file(100), 1);
  for (std::uint64_t cell = 10; cell < 20; ++cell) versions.written({7, cell}, cell, {});
  EXPECT_LE(versions.kept(), 4U);
  // The file that the commit made has the number, the size and the time of the one before.
  EXPECT_NE(version(versions, kShard, file(100), 1), before);
  EXPECT_NE(version(versions, kShard, file(100), 1), written);
  EXPECT_NE(versions.version_of_draft(kShard, 1, {7, 0}).version, written);
}

TEST(ShardVersions, AMillionWritesTakeAsMuchAsAThousand) {
  ShardVersions versions;
  for (int round = 0; round < 1'000'000; ++round) versions.written(kShard, 1, {7, 0});
  EXPECT_EQ(versions.kept(), 2U);
  for (std::uint64_t cell = 0; cell < 1'000'000; ++cell) versions.written({7, cell}, cell, {});
  EXPECT_LE(versions.kept(), ShardVersions::kMostKept);
  for (std::uint64_t chunk = 0; chunk < 200'000; ++chunk) versions.written(kOther, chunk, {});
  EXPECT_LE(versions.kept(), ShardVersions::kMostKept);
}

/// Commits of our own come so fast that the file system gives the number of the file that is gone
/// to the next one, which has the same size and was made within the same tick of time, as ext4
/// does.
TEST(ShardVersions, AFileThatIsReplacedWithinTicksIsAnotherVersionEachTime) {
  constexpr int kRounds = 1'000'000;
  constexpr int kWithinTick = 100;
  constexpr int kUntilOthers = 1000;  // rounds, after which others need the table
  const auto file_of = [](int round) { return file(100 + round % 2, 5 + round / kWithinTick); };
  ShardVersions versions(64);
  std::unordered_set<std::uint64_t> seen;
  for (int round = 0; round < kRounds; ++round) {
    const FileIdentity now = file_of(round);
    const FileIdentity next = file_of(round + 1);
    const std::uint64_t untouched = version(versions, kShard, now, 2);
    versions.written(kShard, 1, {7, 0});
    const std::uint64_t written = version(versions, kShard, now, 1);
    ASSERT_TRUE(seen.insert(written).second) << "round " << round;
    versions.replacing(kShard, now, next, {});
    versions.republished(kShard, now, next);
    ASSERT_EQ(version(versions, kShard, next, 1), written) << "round " << round;
    ASSERT_EQ(version(versions, kShard, next, 2), untouched) << "round " << round;
    if (round % kUntilOthers != kUntilOthers - 1) continue;
    for (std::uint64_t cell = 10; cell < 80; ++cell) versions.written({7, cell}, cell, {});
    ASSERT_TRUE(seen.insert(version(versions, kShard, next, 1)).second) << "round " << round;
    ASSERT_LE(versions.kept(), 64U);
  }
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

TEST(InodeTable, ADirectoryIsForgottenWhenNoNumberOfItIsKnown) {
  InodeTable table;
  const NamedNode directory{NamedNode::Kind::kDirectory, "g/a", 0};
  const NodeId old = table.look_up(directory);
  table.removed(directory);
  const NodeId made_again = table.look_up(directory);
  EXPECT_NE(made_again, old);
  EXPECT_FALSE(table.forget(made_again, 1)) << "somebody is still in the one that was removed";
  EXPECT_EQ(table.forget(old, 1), "g/a");
  EXPECT_FALSE(table.forget(table.look_up({NamedNode::Kind::kDocument, "g/a", 5}), 1));
}

TEST(InodeTable, AMovedDirectoryIsForgottenByItsNewName) {
  InodeTable table;
  const NodeId inner = table.look_up({NamedNode::Kind::kDirectory, "g/a", 0});
  const NodeId there = table.look_up({NamedNode::Kind::kDirectory, "h/a", 0});
  table.moved("g", "h");
  EXPECT_EQ(table.find(inner)->path, "h/a");
  EXPECT_EQ(table.look_up({NamedNode::Kind::kDirectory, "h/a", 0}), inner);
  EXPECT_FALSE(table.forget(there, 1));
  EXPECT_EQ(table.forget(inner, 2), "h/a");
}

TEST(InodeTable, AFileThatBecameADocumentIsNoOtherFileOfItsNumber) {
  InodeTable table;
  const NamedNode file{NamedNode::Kind::kPassThrough, ".zattrs.partial", 5};
  const NodeId became = table.look_up(file);
  const std::uint64_t before = table.bytes();
  table.became(file, ".zattrs");
  EXPECT_LT(table.bytes(), before);
  EXPECT_EQ(table.find(became)->path, ".zattrs");
  EXPECT_NE(table.find(became)->version, 5U);
  const NodeId other = table.look_up(file);
  EXPECT_NE(other, became);
  EXPECT_FALSE(table.forget(became, 1));
  EXPECT_EQ(table.look_up(file), other);
}

TEST(InodeTable, WhatNobodyAskedForIsUnusedTheSecondTime) {
  InodeTable table;
  const NodeId once = table.look_up({NamedNode::Kind::kPassThrough, "a", 1});
  const NodeId often = table.look_up({NamedNode::Kind::kPassThrough, "b", 2});
  EXPECT_TRUE(table.unused(1000).empty());
  EXPECT_TRUE(table.find(often));
  EXPECT_EQ(table.unused(1000), std::vector<NodeId>{once});
  const std::uint64_t before = table.bytes();
  table.forget(once, 1);
  EXPECT_LT(table.bytes(), before);
}

TEST(InodeTable, TheRootStays) {
  InodeTable table;
  table.forget(kRootNode, 1000);
  ASSERT_TRUE(table.find(kRootNode));
  EXPECT_EQ(table.find(kRootNode)->path, "");
}

}  // namespace
}  // namespace zarrfs
