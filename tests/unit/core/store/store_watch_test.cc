// What a watched store tells of its changes, and what it does not promise.
#include "core/store/store_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StoreWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory.write("a/c/0/0", "shard");
    directory.write("a/c/0/1", "shard");
    directory.write("a/zarr.json", "{}");
    watch = open();
  }
  std::shared_ptr<StoreWatch> open(std::size_t most = StoreWatch::kMostDirectories) {
    auto opened = StoreWatch::of(directory.path(), most);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  TempDir directory;
  std::shared_ptr<StoreWatch> watch;
};

TEST_F(StoreWatchTest, TellsWhatChangesInADirectoryAndInThoseAbove) {
  ASSERT_TRUE(watch->watch("a/c/0"));
  EXPECT_EQ(watch->directories(), 4U);
  EXPECT_THAT(watch->take(), IsEmpty());
  directory.write("a/c/0/0", "in place");
  EXPECT_THAT(watch->take(), Contains("a/c/0/0"));
  fs::rename(directory / "a/c/0/1", directory / "a/c/0/0");
  EXPECT_THAT(watch->take(), ElementsAre("a/c/0/1", "a/c/0/0"));
  fs::permissions(directory / "a/c/0/0", fs::perms::owner_read);
  EXPECT_THAT(watch->take(), ElementsAre("a/c/0/0"));
  fs::rename(directory / "a/zarr.json", directory / "a/c/zarr.json");
  EXPECT_THAT(watch->take(), Contains("a/zarr.json"));
}

TEST_F(StoreWatchTest, ADirectoryThatIsReplacedIsWatchedNoLonger) {
  ASSERT_TRUE(watch->watch("a/c/0"));
  fs::rename(directory / "a/c", directory / "a/d");
  EXPECT_THAT(watch->take(), Contains("a/c"));
  EXPECT_EQ(watch->directories(), 2U);
  fs::create_directories(directory / "a/c/0");
  EXPECT_THAT(watch->take(), Contains("a/c"));
  ASSERT_TRUE(watch->watch("a/c/0"));
  directory.write("a/c/0/0", "new");
  EXPECT_THAT(watch->take(), Contains("a/c/0/0"));
  fs::remove_all(directory / "a");
  EXPECT_THAT(watch->take(), Contains("a"));
  EXPECT_EQ(watch->directories(), 1U);
}

TEST_F(StoreWatchTest, WhatCannotBeWatchedIsRefused) {
  EXPECT_FALSE(watch->watch("a/none"));
  EXPECT_FALSE(watch->watch("a/c/0/0")) << "a file";
  fs::create_directory_symlink("c", directory / "a/link");
  EXPECT_FALSE(watch->watch("a/link/0"));
  EXPECT_TRUE(watch->holds_plain("a/c/0/0"));
  EXPECT_FALSE(watch->holds_plain("a/link/0/0"));
  EXPECT_FALSE(watch->holds_plain("a/c/0/2"));
  fs::create_hard_link(directory / "a/c/0/0", directory / "other");
  EXPECT_FALSE(watch->holds_plain("a/c/0/0")) << "it can be written by the other name";
  EXPECT_FALSE(StoreWatch::of("/proc")) << "the kernel changes it without a word";
}

TEST_F(StoreWatchTest, WhatIsAbsentIsWatchedFromAbove) {
  EXPECT_TRUE(watch->watch_what_is_there("a/c/1/2"));
  EXPECT_EQ(watch->directories(), 3U);
  fs::create_directory(directory / "a/c/1");
  EXPECT_THAT(watch->take(), Contains("a/c/1"));
  EXPECT_TRUE(watch->watch_what_is_there("a/c/1/2"));
  fs::create_directory(directory / "a/c/1/2");
  EXPECT_THAT(watch->take(), Contains("a/c/1/2"));
  fs::create_directory_symlink("c", directory / "a/link");
  EXPECT_FALSE(watch->watch_what_is_there("a/link/7"));
  EXPECT_FALSE(watch->watch_what_is_there("a/c/0/0")) << "a file";
  EXPECT_FALSE(open(2)->watch_what_is_there("a/c/7"));
  EXPECT_TRUE(watch->holds_plain_or_nothing("a/c/0/0"));
  EXPECT_TRUE(watch->holds_plain_or_nothing("a/c/9/9"));
  EXPECT_FALSE(watch->holds_plain_or_nothing("a/link"));
  EXPECT_FALSE(watch->holds_plain_or_nothing("a/c/0"));
}

TEST_F(StoreWatchTest, NewsIsThereAsSoonAsTheChangeIsDone) {
  ASSERT_TRUE(watch->watch("a/c/0"));
  EXPECT_FALSE(watch->has_news());
  directory.write("a/c/0/0", "new");
  EXPECT_TRUE(watch->has_news());
  watch->take();
  EXPECT_FALSE(watch->has_news());
}

TEST_F(StoreWatchTest, TheNumberOfDirectoriesIsBounded) {
  const auto small = open(3);
  EXPECT_TRUE(small->watch("a/c"));
  EXPECT_TRUE(small->full());
  EXPECT_FALSE(small->watch("a/c/0"));
  EXPECT_TRUE(small->watch("a/c")) << "what is watched stays so";
  small->clear();
  EXPECT_FALSE(small->full());
  directory.write("a/c/x", "");
  EXPECT_THAT(small->take(), IsEmpty());
}

TEST_F(StoreWatchTest, MoreThanCanBeToldIsEverything) {
  std::size_t most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  if (most == 0 || most > 100'000) GTEST_SKIP() << "the kernel's queue is too long to fill";
  ASSERT_TRUE(watch->watch("a/c/0"));
  for (std::size_t i = 0; i <= most; ++i) {
    std::ofstream(directory / ("a/c/0/" + std::to_string(i % 2)), std::ios::app) << "x";
  }
  EXPECT_THAT(watch->take(), Contains(""));
  EXPECT_EQ(watch->directories(), 0U);
}

}  // namespace
}  // namespace zarrfs
