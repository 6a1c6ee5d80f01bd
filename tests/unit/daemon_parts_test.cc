// The parts of the daemon that can be tried without a mount.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/recently_used.h"
#include "fs/log.h"
#include "fs/mount_table.h"
#include "fs/mountpoint.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using testing::HasSubstr;

TEST(MountTable, ReadsTheKernelsLines) {
  const auto entries = parse_mountinfo(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
      "cut short\n"
      "40 35 0:55 / /mnt/a\\040b ro shared:2 master:1 - fuse.zarrfs /data/x\\134y ro,user_id=0\n");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].mountpoint, "/mnt2");
  EXPECT_EQ(entries[0].type, "ext3");
  EXPECT_EQ(entries[1].mountpoint, "/mnt/a b");
  EXPECT_EQ(entries[1].device, "0:55");
  EXPECT_EQ(entries[1].type, kOwnType);
  EXPECT_EQ(entries[1].source, "/data/x\\y");
}

TEST(MountTable, FindsTheRootsMount) {
  const auto root = mount_at("/");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_TRUE(root->has_value());
}

TEST(Mountpoint, MustBeADirectoryThatExists) {
  const TempDir folder;
  const std::string file = folder / "file";
  std::ofstream(file) << "x";
  EXPECT_THAT(prepare_mountpoint(file).error().message, HasSubstr("is not a directory"));
  EXPECT_THAT(prepare_mountpoint(file + "_absent").error().message, HasSubstr("_absent"));
  EXPECT_EQ(prepare_mountpoint("/usr/../usr/").value(), "/usr");
}

TEST(Mountpoint, AndSourceMustNotContainEachOther) {
  EXPECT_FALSE(check_apart("/data/store", "/data/store"));
  EXPECT_FALSE(check_apart("/data/store", "/data/store/mnt"));
  EXPECT_FALSE(check_apart("/data/store", "/data"));
  EXPECT_FALSE(check_apart("/data/store", "/"));
  EXPECT_TRUE(check_apart("/data/store", "/data/store2"));
  EXPECT_TRUE(check_apart("/data/store", "/mnt"));
}

TEST(MessageClass, LeavesOutTheObjectAndItsNumbers) {
  EXPECT_EQ(message_class("shard a/0/1: entry 7 lies past 8192"), "entry  lies past ");
  EXPECT_EQ(message_class("shard a/0/2: entry 9 lies past 1"), "entry  lies past ");
  EXPECT_EQ(message_class("no object"), "no object");
}

TEST(RepeatFilter, PassesAFewOfAClassAndCountsTheRest) {
  RepeatFilter filter;
  const RepeatFilter::Clock::time_point start{};
  int passed = 0;
  for (int i = 0; i < 100; ++i) {
    passed += filter.judge("shard " + std::to_string(i) + ": cut", start).pass ? 1 : 0;
  }
  EXPECT_EQ(passed, static_cast<int>(RepeatFilter::kPassed));
  EXPECT_TRUE(filter.judge("shard 1: another fault", start).pass);
  const auto later = filter.judge("shard 1: cut", start + RepeatFilter::kPeriod);
  EXPECT_TRUE(later.pass);
  EXPECT_EQ(later.suppressed_before, 100 - RepeatFilter::kPassed);
}

TEST(Log, WritesOneLineForEachMessageWithControlCharactersEscaped) {
  const TempDir folder;
  const std::string file = folder / "log";
  auto log = Log::open(LogTarget::kFile, LogLevel::kInfo, file);
  ASSERT_TRUE(log) << log.error().message;
  (*log)->write(LogLevel::kInfo, "a name with\na line break");
  (*log)->write(LogLevel::kDebug, "too small a thing");
  std::ifstream text(file);
  std::string first;
  std::string second;
  std::getline(text, first);
  EXPECT_THAT(first, HasSubstr("info: a name with"));
  EXPECT_THAT(first, HasSubstr("a line break"));
  EXPECT_FALSE(std::getline(text, second));
}

TEST(Log, AFileThatCannotBeWrittenIsNamed) {
  const auto log = Log::open(LogTarget::kFile, LogLevel::kInfo, "/proc/none/zarrfs");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("/proc/none/zarrfs"));
}

TEST(RecentlyUsed, LetsTheLongestUnusedGo) {
  RecentlyUsed<int, std::shared_ptr<int>> kept(2);
  kept.keep(1, std::make_shared<int>(1));
  kept.keep(2, std::make_shared<int>(2));
  EXPECT_NE(kept.find(1), nullptr);
  kept.keep(3, std::make_shared<int>(3));
  EXPECT_NE(kept.find(1), nullptr);
  EXPECT_EQ(kept.find(2), nullptr);
  kept.drop(1);
  EXPECT_EQ(kept.find(1), nullptr);
}

}  // namespace
}  // namespace zarrfs
