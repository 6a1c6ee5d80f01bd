#include "fs/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/base/json.h"
#include "fs/doctor/doctor_command.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    machine_.root = folder_.path();
    machine_.search_path = "/usr/local/bin:/usr/bin";
    machine_.temporary = machine_.root + "/no-such-folder";
  }

  void put(const std::string& path, const std::string& text, unsigned mode = 0644) {
    const fs::path file = machine_.root + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
  }

  Finding look(const std::string& name) {
    for (const Check& check : doctor_checks()) {
      if (check.name == name) return check.look(machine_);
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }

  TempDir folder_;
  Machine machine_;
};

TEST_F(Doctor, EveryCheckHasANameOfItsOwnAndARemedy) {
  std::set<std::string> names;
  for (const Check& check : doctor_checks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_FALSE(std::string(check.remedy).empty()) << check.name;
  }
}

TEST_F(Doctor, TellsWhetherTheKernelForgetsNamesWhenAsked) {
  for (const char* release : {"6.18.44", "6.18-rc1", "7.0.1-generic"}) {
    machine_.kernel = release;
    EXPECT_EQ(look("names").verdict, Verdict::kGood) << release;
  }
  for (const char* release : {"6.17.9", "5.15.0-91-generic", "6.1.0-18-amd64"}) {
    machine_.kernel = release;
    EXPECT_EQ(look("names").verdict, Verdict::kLimited) << release;
    EXPECT_THAT(look("names").text, HasSubstr(release));
  }
}

TEST_F(Doctor, TellsWhetherRequestsCanComeByIoUring) {
  EXPECT_EQ(look("io_uring").verdict, Verdict::kGood) << "most kernels have none";
  put("/sys/module/fuse/parameters/enable_uring", "N\n");
  EXPECT_EQ(look("io_uring").verdict, Verdict::kLimited);
  EXPECT_THAT(look("io_uring").text, HasSubstr("enable_uring is not set"));
  put("/sys/module/fuse/parameters/enable_uring", "Y\n");
  put("/sys/devices/system/cpu/possible", "0-3\n");
  EXPECT_EQ(look("io_uring").verdict, Verdict::kGood);
  EXPECT_THAT(look("io_uring").text, HasSubstr("each of 4 processors"));
  put("/sys/devices/system/cpu/possible", "0-511\n");
  EXPECT_EQ(look("io_uring").verdict, Verdict::kLimited);
  EXPECT_THAT(look("io_uring").text, HasSubstr("more than 256 MiB"));
}

TEST_F(Doctor, TheDeviceMustBeThereAndADevice) {
  EXPECT_EQ(look("device").verdict, Verdict::kWrong);
  EXPECT_THAT(look("device").text, HasSubstr("/dev/fuse: No such file or directory"));
  put("/dev/fuse", "");
  EXPECT_THAT(look("device").text, HasSubstr("not a character device"));
}

TEST_F(Doctor, FusermountMustBeSetUserIdForUsersOnly) {
  EXPECT_EQ(look("fusermount3").verdict, Verdict::kWrong);
  machine_.privileged = true;
  EXPECT_EQ(look("fusermount3").verdict, Verdict::kLimited);
  machine_.privileged = false;
  put("/usr/bin/fusermount3", "", 0755);
  EXPECT_THAT(look("fusermount3").text, HasSubstr("not set-user-id root"));
  put("/usr/bin/fusermount3", "", 04755);
  EXPECT_EQ(look("fusermount3").verdict, Verdict::kGood);
}

TEST_F(Doctor, MtabIsNeededByUsers) {
  EXPECT_EQ(look("mtab").verdict, Verdict::kWrong);
  put("/etc/mtab", "");
  EXPECT_EQ(look("mtab").verdict, Verdict::kGood);
}

TEST_F(Doctor, AllowOtherCountsOnlyOutsideOfComments) {
  EXPECT_EQ(look("allow_other").verdict, Verdict::kLimited);
  put("/etc/fuse.conf", "# user_allow_other\n#user_allow_other\nmount_max = 1000\n");
  EXPECT_EQ(look("allow_other").verdict, Verdict::kLimited);
  put("/etc/fuse.conf", "mount_max = 1000\n  user_allow_other\n");
  EXPECT_EQ(look("allow_other").verdict, Verdict::kGood);
}

TEST_F(Doctor, TheHelperMustBeWhereMountLooks) {
  EXPECT_EQ(look("helper").verdict, Verdict::kLimited);
  put("/usr/local/sbin/mount.zarrfs", "", 0755);
  EXPECT_THAT(look("helper").text, HasSubstr("not where mount(8) looks"));
  put("/usr/sbin/mount.zarrfs", "", 0755);
  EXPECT_EQ(look("helper").verdict, Verdict::kGood);
}

TEST_F(Doctor, OnlyMountsOfZarrfsCount) {
  EXPECT_EQ(look("mounts").verdict, Verdict::kWrong);
  put("/proc/self/mountinfo", "36 35 98:0 / /elsewhere rw - ext3 /dev/root rw\n");
  EXPECT_EQ(look("mounts").verdict, Verdict::kGood);
  put("/proc/self/mountinfo", "40 35 0:55 / / ro - fuse.zarrfs /data ro\n");
  EXPECT_THAT(look("mounts").text, HasSubstr("1, none dead"));
}

TEST_F(Doctor, ATrialThatCannotBeginIsWrong) {
  EXPECT_EQ(look("trial").verdict, Verdict::kWrong);
  EXPECT_THAT(look("trial").text, HasSubstr("no-such-folder"));
}

TEST_F(Doctor, TheRealKernelAndLibraryAreGood) {
  EXPECT_EQ(look("kernel").verdict, Verdict::kGood) << look("kernel").text;
  EXPECT_EQ(look("libfuse").verdict, Verdict::kGood) << look("libfuse").text;
}

TEST_F(Doctor, OneLineACheckAndWhatToDo) {
  std::istringstream in;
  std::ostringstream out;
  CLI::App app;
  DoctorCommand command(machine_);
  command.declare(app);
  EXPECT_EQ(command.run({in, out, out}), 1);
  EXPECT_THAT(out.str(), HasSubstr("wrong    device "));
  EXPECT_THAT(out.str(), HasSubstr("-> as root: modprobe fuse"));
}

TEST_F(Doctor, AsJson) {
  std::istringstream in;
  std::ostringstream out;
  CLI::App app;
  DoctorCommand command(machine_);
  command.declare(app);
  app.parse(std::vector<std::string>{"--json"});
  EXPECT_EQ(command.run({in, out, out}), 1);
  const Json document = Json::parse(out.str());
  EXPECT_FALSE(document["good"].get<bool>());
  ASSERT_EQ(document["checks"].size(), doctor_checks().size());
  for (const Json& check : document["checks"]) {
    EXPECT_EQ(check["remedy"] == "", check["verdict"] == "good") << check.dump();
  }
}

}  // namespace
}  // namespace zarrfs
