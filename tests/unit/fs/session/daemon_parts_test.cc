// The parts of the daemon that can be tried without a mount.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/recently_used.h"
#include "fs/mounts/holders.h"
#include "fs/mounts/mount_table.h"
#include "fs/mounts/mountpoint.h"
#include "fs/options/log.h"
#include "fs/requests/statistics.h"
#include "fs/session/idle.h"
#include "fs/session/owner.h"
#include "fs/session/process.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_TRUE(entries[1].read_only);
  EXPECT_FALSE(entries[0].read_only);
  EXPECT_EQ(entries[1].user, 0U);
  EXPECT_EQ(entries[0].user, std::nullopt);
}

TEST(MountTable, FindsTheRootsMount) {
  const auto root = mount_at("/");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_TRUE(root->has_value());
}

TEST(Descriptors, AreKeptWhereTheCommandLineNamesThem) {
  EXPECT_EQ(descriptors_in({"/data", "ro,url_file=/dev/fd/63,log=/proc/self/fd/5", "/dev/fd/7"}),
            (std::vector<int>{63, 5, 7}));
  EXPECT_TRUE(
      descriptors_in({"/dev/fd/", "/dev/fd/x", "/dev/fd/-1", "/dev/fd/99999999999"}).empty());
}

TEST(Mountpoint, OfAnotherProgramIsADescriptor) {
  EXPECT_EQ(given_connection("/dev/fd/7"), 7);
  for (const char* other : {"/dev/fd/", "/dev/fd/7/", "/dev/fd/-7", "/dev/fd/7x", "dev/fd/7", ""}) {
    EXPECT_FALSE(given_connection(other)) << other;
  }
}

TEST(Owner, BeganWhenTheKernelSays) {
  TempDir place;
  std::ofstream(place.path() + "/stat")
      << "4242 (a ) 1 2 (b)) S 1 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2\n";
  const auto start = start_of_process(place.path());
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(*start, 987654U);
  std::ofstream(place.path() + "/stat") << "4242 (cut) S 1 2";
  EXPECT_FALSE(start_of_process(place.path()));
  EXPECT_FALSE(start_of_process(place.path() + "/nowhere"));
  EXPECT_TRUE(start_of_process("/proc/self"));
}

TEST(IdleWatch, WaitsForTheLimitAfterTheLastRequest) {
  using std::chrono::seconds;
  const IdleWatch::Clock::time_point begin{};
  IdleWatch watch(seconds(8), begin);
  EXPECT_EQ(watch.pause(), 1000);
  EXPECT_FALSE(watch.look(0, begin + seconds(7)));
  EXPECT_FALSE(watch.look(3, begin + seconds(9))) << "something was asked";
  EXPECT_FALSE(watch.look(3, begin + seconds(16)));
  EXPECT_TRUE(watch.look(3, begin + seconds(17)));
  EXPECT_FALSE(watch.look(3, begin + seconds(18))) << "it is asked again only after the limit";
  EXPECT_TRUE(watch.look(3, begin + seconds(25)));
  IdleWatch never(seconds(0), begin);
  EXPECT_EQ(never.pause(), -1);
  EXPECT_FALSE(never.look(0, begin + seconds(100000)));
  EXPECT_EQ(IdleWatch(std::chrono::duration<double>(0.1), begin).pause(), 25);
}

TEST(Statistics, LeavesOutWhatComesByItself) {
  Statistics statistics;
  for (const Operation one : {Operation::kForget, Operation::kStatfs, Operation::kRead}) {
    statistics.count_request(one);
  }
  EXPECT_EQ(statistics.wanted_requests(), 1U);
}

TEST(Holders, AreNamedByWhatTheyHold) {
  const TempDir proc;
  const auto process = [&](const std::string& number, const std::string& name) {
    std::filesystem::create_directories(proc / number / "fd");
    std::ofstream(proc / number / "comm") << name << "\n";
    return proc / number;
  };
  std::filesystem::create_symlink("/mnt/a", process("7", "bash") / "cwd");
  const auto python = process("12", "py\tthon");
  std::filesystem::create_symlink("/", python / "cwd");
  std::filesystem::create_symlink("/mnt/a/0/0.0", python / "fd" / "3");
  std::filesystem::create_symlink("/mnt/ab/c", process("13", "other") / "cwd");
  std::filesystem::create_directories(proc / "self");
  EXPECT_EQ(holders_text(holders_of("/mnt/a", proc.path())),
            "bash (7): working directory, py\\x09thon (12): open file 0/0.0");
  EXPECT_EQ(holders_text(holders_of("/mnt/abc", proc.path())), "");
  EXPECT_EQ(holders_text(std::vector<Holder>(7, {1, "a", "b"})),
            "a (1): b, a (1): b, a (1): b, a (1): b, a (1): b and 2 more");
}

TEST(Mountpoint, IsMadeInTheWorkingDirectoryIfNobodyNamesOne) {
  const TempDir folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto path_of = [](const std::string& source) { return own_mountpoint(source)->path; };
  EXPECT_EQ(path_of("/data/brain.ome.zarr/"), "brain.ome.zarr");
  EXPECT_TRUE(std::filesystem::is_directory("brain.ome.zarr"));
  EXPECT_FALSE(own_mountpoint("/data/brain.ome.zarr")->made) << "it is empty, and was there";
  EXPECT_EQ(path_of("s3://bucket/plain?x=1"), "plain.zarr");
  std::filesystem::create_directory("taken.zarr");
  std::ofstream("taken.zarr/zarr.json") << "{}";
  EXPECT_EQ(path_of("taken.zarr"), "taken.mount.zarr");
  std::ofstream("taken.mount.zarr/file") << "";
  const auto refused = own_mountpoint("taken.zarr");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kExists);
  EXPECT_EQ(path_of("."), folder.path().substr(folder.path().rfind('/') + 1) + ".zarr");
  std::filesystem::current_path(before);
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

MountEntry mount_of(const std::string& source, const std::string& mountpoint,
                    const std::string& type = std::string(kOwnType)) {
  return {"0:1", mountpoint, type, source, false};
}

TEST(Mountpoint, IsNotReadByAMountThatIsRead) {
  // What is on /b/in shows /a; what comes shows /b.
  const std::vector<MountEntry> one = {mount_of("/a", "/b/in")};
  EXPECT_THAT(check_no_circle("/b", "/a/in", one).error().message,
              AllOf(HasSubstr("/a/in lies within /a"), HasSubstr("mounted on /b/in")));
  EXPECT_TRUE(check_no_circle("/b", "/elsewhere", one));
  EXPECT_TRUE(check_no_circle("/c", "/a/in", one));
  EXPECT_TRUE(check_no_circle("/b", "/a/in", {mount_of("/a", "/b/in", "fuse.sshfs")}));
  // Through a third one, and where the source is seen through another mount.
  const std::vector<MountEntry> two = {mount_of("/a", "/b/in"), mount_of("/b", "/c/in")};
  EXPECT_FALSE(check_no_circle("/c", "/a/in", two));
  EXPECT_FALSE(check_no_circle("/b/in/x", "/a/in", one));
  // Two that stand there already in a circle end the search.
  const std::vector<MountEntry> circle = {mount_of("/a", "/b/in"), mount_of("/b", "/a/in")};
  EXPECT_TRUE(check_no_circle("/a/in/x", "/elsewhere", circle));
}

TEST(Mountpoint, AroundASource) {
  const std::vector<MountEntry> mounts = {mount_of("root", "/", "ext4"), mount_of("/s", "/m"),
                                          mount_of("tmpfs", "/m/deep", "tmpfs")};
  EXPECT_EQ(own_mount_around("/m/sub", mounts).value().source, "/s");
  EXPECT_FALSE(own_mount_around("/m/deep/store", mounts));
  EXPECT_FALSE(own_mount_around("/other", mounts));
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
