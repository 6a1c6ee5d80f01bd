// Directories of chunks to a kernel that knows them by a node of before their array was resized, or
// of before it was an array: programs that work in such a directory go on.
#include <gtest/gtest.h>

#include <string>

#include "core/base/json.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

class ViewResized : public ::testing::Test {
 protected:
  ViewResized() : shown_(maker_.group("").root(), writing()) {}

  static ViewOptions writing() {
    ViewOptions options;
    options.format = ViewFormat::kV3;
    options.writing = Writing{};
    return options;
  }
  View& view() { return shown_.view(); }
  NodeId node(const std::string& path) {
    const auto found = shown_.find(path);
    EXPECT_TRUE(found && *found) << path;
    return found && *found ? (*found)->id : 0;
  }
  NodeId make_directory(NodeId parent, const std::string& name) {
    const auto made = view().make_directory(parent, name, 0755);
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->id : 0;
  }
  void write(NodeId directory, const std::string& name, const std::string& text) {
    const auto made = shown_.write(directory, name, text);
    ASSERT_TRUE(made) << made.error().message;
  }
  /// `rows` of two chunks in each of two columns.
  void resize(std::uint64_t rows) {
    Json document = Json::parse(R"({"zarr_format": 3, "node_type": "array", "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1, 4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {}})");
    document["shape"] = {rows, 2, 8};
    write(node("a"), "zarr.json", document.dump());
  }
  /// To the kernel a directory is in one place.
  void expect_one_parent_each(NodeId older, NodeId newer, const std::string& name) {
    const auto by_older = view().find(older, name);
    const auto by_newer = view().find(newer, name);
    ASSERT_TRUE(by_older && *by_older && by_newer && *by_newer);
    EXPECT_NE((*by_older)->id, (*by_newer)->id) << name;
    EXPECT_EQ((*by_older)->status.st_ino, (*by_newer)->status.st_ino);
  }

  StoreMaker maker_;
  ShownStore shown_;
};

TEST_F(ViewResized, WhatIsInADirectoryOfBeforeHasANumberOfItsOwn) {
  make_directory(kRootNode, "a");
  resize(2);
  const NodeId older = make_directory(node("a"), "c");
  resize(8);
  const NodeId newer = node("a/c");
  ASSERT_NE(older, newer);
  const NodeId row = make_directory(older, "6");
  expect_one_parent_each(older, newer, "6");
  const NodeId column = make_directory(row, "1");
  expect_one_parent_each(row, node("a/c/6"), "1");
  write(column, "0", "four");
  EXPECT_EQ(shown_.read("a/c/6/1/0"), "four");
  resize(16);
  expect_one_parent_each(older, node("a/c"), "6");
  expect_one_parent_each(row, node("a/c/6"), "1");
  EXPECT_TRUE(view().attributes(column));
}

TEST_F(ViewResized, SoHasWhatIsInADirectoryThatWasThereBeforeTheArray) {
  make_directory(kRootNode, "a");
  const NodeId older = make_directory(node("a"), "c");
  make_directory(older, "1");
  resize(2);
  expect_one_parent_each(older, node("a/c"), "1");
}

}  // namespace
}  // namespace zarrfs::test
