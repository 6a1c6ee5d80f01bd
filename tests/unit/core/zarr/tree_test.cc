#include "core/zarr/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/zarr/visit_limit.h"
#include "tests/support/counting_store.h"
#include "tests/support/shard_bytes.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char kGroup[] = R"({"zarr_format": 3, "node_type": "group"})";

class TreeTest : public ::testing::Test {
 protected:
  TreeTest() : store(std::shared_ptr<Store>(*open_store(directory.path(), LinkPolicy::kInside))) {}

  Node load(const std::string& path) {
    auto node = load_node(store, path);
    EXPECT_TRUE(node) << node.error().message;
    return node ? std::move(*node) : Node{};
  }
  /// "path:kind" of each node visited.
  std::vector<std::string> walk(const std::string& path = "", const std::string& leave_out = "-") {
    std::vector<std::string> seen;
    const auto walked = walk_nodes(store, path, [&](const std::string& at, const Node& node) {
      static const char* const kNames[] = {"group", "array", "damaged", "unsupported",
                                           "plain", "file",  "absent"};
      seen.push_back(at + ":" + kNames[static_cast<int>(node.kind)]);
      last_error = node.error;
      return at != leave_out;
    });
    if (!walked) seen.push_back("error " + walked.error().message);
    return seen;
  }
  void write_array(const std::string& path) {
    directory.write(path + "/zarr.json", array_document({.codecs = sharding("[2, 2]")}));
  }

  TempDir directory;
  CountingStore store;
  Error last_error;
};

TEST_F(TreeTest, JoinsPathsWithoutASlashAtTheRoot) {
  EXPECT_EQ(join_path("", "a"), "a");
  EXPECT_EQ(join_path("a", "b"), "a/b");
}

TEST_F(TreeTest, LoadsEachKindOfNode) {
  directory.write("zarr.json", kGroup);
  write_array("a");
  directory.write("plain/file", "x");
  EXPECT_EQ(load("").kind, Node::Kind::kGroup);
  const Node array = load("a");
  EXPECT_EQ(array.kind, Node::Kind::kArray);
  ASSERT_TRUE(array.array && array.layout);
  EXPECT_TRUE(array.layout->sharded());
  EXPECT_EQ(array.document, identity_of(**store.status("a/zarr.json")));
  EXPECT_EQ(load("plain").kind, Node::Kind::kPlain);
  EXPECT_EQ(load("plain/file").kind, Node::Kind::kFile);
  EXPECT_EQ(load("plain/file").status.st_size, 1);
  EXPECT_EQ(load("nothing").kind, Node::Kind::kAbsent);
  EXPECT_EQ(load("plain/file/below").kind, Node::Kind::kAbsent);
}

TEST_F(TreeTest, ADocumentThatCannotBeUnderstoodIsDamageOrUnsupported) {
  directory.write("text/zarr.json", "{");
  EXPECT_EQ(load("text").kind, Node::Kind::kDamaged);
  EXPECT_THAT(load("text").error.message, HasSubstr("text/zarr.json"));
  directory.write("empty/zarr.json", "");
  EXPECT_EQ(load("empty").kind, Node::Kind::kDamaged);
  directory.write("codec/zarr.json", array_document({.codecs = R"({"name": "no_such_codec"})"}));
  const Node codec = load("codec");
  EXPECT_EQ(codec.kind, Node::Kind::kUnsupported);
  EXPECT_EQ(codec.layout, nullptr);
  EXPECT_THAT(codec.error.message, HasSubstr("no_such_codec"));
  directory.write("shape/zarr.json", array_document({.codecs = sharding("[3, 2]")}));
  const Node shape = load("shape");
  EXPECT_EQ(shape.kind, Node::Kind::kDamaged);
  EXPECT_TRUE(shape.array);
  EXPECT_THAT(shape.error.message, HasSubstr("shape/zarr.json: "));
}

TEST_F(TreeTest, ADocumentThatCannotBeReadIsADamagedNode) {
  std::filesystem::create_directories(directory / "folder/zarr.json");
  EXPECT_EQ(load("folder").kind, Node::Kind::kDamaged);
  EXPECT_EQ(load("folder").error.fault, Fault::kDamaged);
  directory.write("huge/zarr.json", "");
  std::filesystem::resize_file(directory / "huge/zarr.json", std::uint64_t{1} << 40U);
  EXPECT_EQ(load("huge").kind, Node::Kind::kDamaged);
  directory.write("a/zarr.json", kGroup);
  for (const int number : {EIO, EACCES, ELOOP}) {
    store.calls().fail_once(StoreCall::kOpen, 1, number);
    const Node node = load("a");
    EXPECT_EQ(node.kind, Node::Kind::kDamaged);
    EXPECT_EQ(errno_of(node.error.fault), number);
    EXPECT_EQ(node.document, identity_of(**store.status("a/zarr.json")));
  }
}

TEST_F(TreeTest, WhatThisProcessLacksIsNoDamageOfTheStore) {
  directory.write("zarr.json", kGroup);
  store.calls().fail_once(StoreCall::kOpen, 1, ENFILE);
  EXPECT_EQ(load_node(store, "").error().fault, Fault::kNoFiles);
  store.calls().fail_once(StoreCall::kList, 1, ENOMEM);
  EXPECT_EQ(walk_nodes(store, "", [](const auto&, const auto&) { return true; }).error().fault,
            Fault::kNoMemory);
}

TEST_F(TreeTest, WalksParentsFirstAndSiblingsByName) {
  directory.write("zarr.json", kGroup);
  directory.write("b/zarr.json", kGroup);
  write_array("b/z");
  write_array("b/a");
  directory.write("b/a/c/0/0", "");
  directory.write("plain/deep/file", "");
  write_array("plain/array");
  EXPECT_THAT(walk(), ElementsAre(":group", "b:group", "b/a:array", "b/z:array", "plain:plain",
                                  "plain/array:array", "plain/deep:plain"));
  EXPECT_THAT(walk("b"), ElementsAre("b:group", "b/a:array", "b/z:array"));
  EXPECT_THAT(walk("", "b"), ElementsAre(":group", "b:group", "plain:plain", "plain/array:array",
                                         "plain/deep:plain"));
  EXPECT_THAT(walk("nothing"), ElementsAre("nothing:absent"));
}

TEST_F(TreeTest, BelowADamagedNodeOnlyNodesAreVisited) {
  directory.write("a/zarr.json", "{");
  directory.write("a/c/0/0", "chunk");
  write_array("a/child");
  EXPECT_THAT(walk("a"), ElementsAre("a:damaged", "a/child:array"));
}

TEST_F(TreeTest, ALinkThatLeadsBackIsNotEntered) {
  directory.write("zarr.json", kGroup);
  directory.write("a/zarr.json", kGroup);
  std::filesystem::create_symlink("..", directory / "a/up");
  EXPECT_THAT(walk(), ElementsAre(":group", "a:group", "a/up:damaged"));
  EXPECT_EQ(last_error.fault, Fault::kLoop);
  EXPECT_THAT(last_error.message, HasSubstr("a/up: "));
}

TEST_F(TreeTest, LevelsOfLinksAreNotWalkedByEveryWay) {
  // 10 links on each of 8 levels: 10^8 ways to the last directory.
  for (int level = 0; level < 8; ++level) {
    const std::string group = "level" + std::to_string(level);
    directory.write(group + "/zarr.json", kGroup);
    for (int link = 0; link < 10; ++link) {
      std::filesystem::create_directory_symlink("../level" + std::to_string(level + 1),
                                                directory / group / std::to_string(link));
    }
  }
  directory.write("level8/zarr.json", kGroup);
  const auto seen = walk("level0");
  EXPECT_LT(seen.size(), 8U * 10U * (VisitLimit::kMost + 1));
  EXPECT_EQ(last_error.fault, Fault::kLoop);
  EXPECT_THAT(last_error.message, HasSubstr("ways lead to this directory"));
}

TEST_F(TreeTest, TheDepthIsBounded) {
  std::string path = "d";
  for (std::size_t i = 0; i < kMaxDepth + 5; ++i) path += "/d";
  std::filesystem::create_directories(directory / path);
  const auto seen = walk();
  EXPECT_EQ(seen.size(), kMaxDepth + 2);
  EXPECT_THAT(seen.back(), HasSubstr(":damaged"));
  EXPECT_EQ(last_error.fault, Fault::kLoop);
}

TEST_F(TreeTest, ADirectoryThatCannotBeListedIsVisitedAsDamagedAndTheWalkGoesOn) {
  directory.write("zarr.json", kGroup);
  directory.write("a/zarr.json", kGroup);
  directory.write("b/zarr.json", kGroup);
  store.calls().fail_once(StoreCall::kList, 2, EACCES);
  EXPECT_THAT(walk(), ElementsAre(":group", "a:damaged", "b:group"));
}

TEST_F(TreeTest, ADraftStoreIsKnown) {
  EXPECT_EQ(is_draft_v3(store, ""), false);
  directory.write("a/zarr.json", kGroup);
  EXPECT_EQ(is_draft_v3(store, "a"), false);
  directory.write("b/zarr.json",
                  R"({"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"})");
  EXPECT_EQ(is_draft_v3(store, "b"), true);
  directory.write("c/meta/root.group.json", "{}");
  EXPECT_EQ(is_draft_v3(store, "c"), true);
  directory.write("d/zarr.json", "[");
  EXPECT_EQ(is_draft_v3(store, "d"), false);
}

}  // namespace
}  // namespace zarrfs
