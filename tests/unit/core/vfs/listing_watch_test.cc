// Which listings have a serial, and when it becomes another.
#include "core/names/listing_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tests/support/lending_view.h"

namespace zarrfs::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Serial = std::optional<std::uint64_t>;

class ListingWatchTest : public LendingViewTest {
 protected:
  void SetUp() override {
    ArrayPlan plan;
    plan.shape = {8, 8};
    for (const char* array : {"a", "b"}) {
      maker.array(array, plan)
          .chunk(array, {0, 0}, counting_elements(1, 4))
          .chunk(array, {3, 3}, counting_elements(9, 4));
    }
    maker.group("");
  }
  NodeId node_of(const std::vector<std::string>& path) {
    NodeId node = kRootNode;
    for (const std::string& name : path) {
      const auto found = view->find(node, name);
      EXPECT_TRUE(found && *found) << name;
      if (found && *found) node = (*found)->id;
    }
    return node;
  }
  Serial serial_of(const std::vector<std::string>& path) {
    const auto directory = view->open_directory(node_of(path));
    EXPECT_TRUE(directory);
    return directory ? (*directory)->serial() : std::nullopt;
  }
  /// Once what was told before is taken up.
  Serial settled(const std::vector<std::string>& path) {
    for (int i = 0; i < 300; ++i) {
      if (const Serial serial = serial_of(path)) return serial;
      std::this_thread::sleep_for(10ms);
    }
    return std::nullopt;
  }
};

TEST_F(ListingWatchTest, DirectoriesOfChunksHaveOneAndOthersHaveNone) {
  open();
  EXPECT_TRUE(serial_of({"a"}));
  EXPECT_TRUE(serial_of({"a", "0"}));
  EXPECT_FALSE(serial_of({})) << "the root shows nodes, which are more than their names";
  EXPECT_FALSE(serial_of({".zarrfs"}));
}

TEST_F(ListingWatchTest, ItStaysUntilSomethingChanges) {
  open();
  const Serial before = serial_of({"a"});
  ASSERT_TRUE(before);
  EXPECT_EQ(serial_of({"a"}), before);
  maker.chunk("a", {0, 1}, counting_elements(3, 4));
  const Serial at_once = serial_of({"a"});
  EXPECT_TRUE(!at_once || at_once != before) << "not even for a moment";
  const Serial after = settled({"a"});
  EXPECT_NE(after, before);
  EXPECT_EQ(serial_of({"a"}), after);
}

TEST_F(ListingWatchTest, AnArrayBesideOneThatChangesKeepsItsOwn) {
  open();
  const Serial before = serial_of({"b"});
  ASSERT_TRUE(serial_of({"a"}));
  maker.chunk("a", {0, 1}, counting_elements(3, 4));
  EXPECT_EQ(settled({"b"}), before);
}

TEST_F(ListingWatchTest, AShardThatComesToAnEmptyPlaceIsTold) {
  fs::remove_all(maker.file("a/c/0"));
  open();
  const Serial before = serial_of({"a"});
  ASSERT_TRUE(before);
  fs::create_directory(maker.file("a/c/0"));
  const Serial after = settled({"a"});
  EXPECT_NE(after, before);
  fs::copy(maker.file("a/c/1/1"), maker.file("a/c/0/1"));
  EXPECT_NE(settled({"a"}), after);
}

TEST_F(ListingWatchTest, WhatMayChangeByAnotherNameHasNone) {
  fs::create_hard_link(maker.file("a/c/0/0"), maker.file("other"));
  open();
  EXPECT_FALSE(serial_of({"a"}));
  EXPECT_FALSE(serial_of({"a", "0"}));
  EXPECT_TRUE(serial_of({"a", "3"})) << "of other shards";
}

TEST_F(ListingWatchTest, ADocumentThatWasReplacedUnseenIsNotTakenForTheOldOne) {
  open();
  const NodeId old = node_of({"a"});
  const auto directory = view->open_directory(old);
  ASSERT_TRUE(directory);
  ArrayPlan plan;
  plan.shape = {8, 8};
  plan.fill_value = 3;
  fs::remove(maker.file("a/zarr.json"));
  maker.text("a/zarr.json", plan.document().dump());
  EXPECT_FALSE((*directory)->serial()) << "it shows the old one";
}

TEST_F(ListingWatchTest, AListingThatNamesWhatCouldNotBeToldIsFetchedAgain) {
  maker.text("a/c/1/1", "no shard");
  open();
  const auto list = [&](const std::vector<std::string>& path) {
    const auto directory = view->open_directory(node_of(path));
    ASSERT_TRUE(directory && (*directory)->list(0, [](const Listed&) { return true; }));
  };
  for (const std::vector<std::string>& damaged : {std::vector<std::string>{"a"}, {"a", "3"}}) {
    const Serial before = serial_of(damaged);
    ASSERT_TRUE(before);
    list(damaged);
    EXPECT_NE(serial_of(damaged), before);
  }
  const Serial sound = serial_of({"b"});
  list({"b"});
  EXPECT_EQ(serial_of({"b"}), sound);
}

TEST_F(ListingWatchTest, OtherNamesInAnArrayAreFilesOnly) {
  maker.text("a/notes", "text");
  open();
  EXPECT_TRUE(serial_of({"a"}));
  fs::create_directory(maker.file("a/more"));
  for (int i = 0; i < 3000 && serial_of({"a"}); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(settled({"a"})) << "whether it is shown depends on what is in it";
  EXPECT_TRUE(serial_of({"a", "0"}));
}

TEST_F(ListingWatchTest, TheyTakeNoMoreThanHalfOfTheWatch) {
  open(4);
  EXPECT_FALSE(serial_of({"a", "0"}).has_value() && serial_of({"b", "0"}).has_value());
}

}  // namespace
}  // namespace zarrfs::test
