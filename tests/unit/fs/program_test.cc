#include "fs/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/base/json.h"
#include "core/base/version.h"
#include "fs/commands.h"
#include "fs/options/options.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Writes its argument, and returns what it is told.
class Echo : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "echo"; }
  [[nodiscard]] std::string summary() const override { return "Say a word"; }
  void declare(CLI::App& app) override { app.add_option("word", word_, "The word")->required(); }
  int run(const Streams& streams) override {
    streams.out << word_;
    return 1;
  }

 private:
  std::string word_;
};

class Program : public ::testing::Test {
 protected:
  int run(std::vector<std::string> words) {
    Commands commands = mount_commands();
    commands.push_back(std::make_unique<Echo>());
    std::istringstream in;
    out_.str("");
    err_.str("");
    return run_program(words, commands, {in, out_, err_});
  }
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(Program, RunsTheCommandThatIsNamedAndReturnsItsStatus) {
  EXPECT_EQ(run({"zarrfs", "echo", "hello"}), 1);
  EXPECT_EQ(out_.str(), "hello");
}

TEST_F(Program, HelpAndVersionAreGood) {
  EXPECT_EQ(run({"zarrfs", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Say a word"));
  EXPECT_EQ(run({"zarrfs", "--version"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr(kProgramVersion));
}

TEST_F(Program, WrongWordsAreAUsageErrorAndNamed) {
  EXPECT_EQ(run({"zarrfs"}), 2);
  EXPECT_EQ(run({"zarrfs", "frobnicate"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("frobnicate"));
  EXPECT_EQ(run({"zarrfs", "echo"}), 2);
  EXPECT_EQ(run({"zarrfs", "--colour"}), 2);
  EXPECT_EQ(run({"zarrfs", "echo", "a word", "\x1b[2J more"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("\\x1b[2J more"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("\x1b")));
}

TEST_F(Program, WordsThatNameNoCommandAreThoseOfMount) {
  EXPECT_EQ(run({"zarrfs", "/data", "/mnt", "-o", "colour=red"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("there is no option \"colour\""));
  EXPECT_EQ(run({"zarrfs", "-o", "ro,view=v9", "/data", "/mnt"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("option view"));
}

TEST_F(Program, AsMountsHelperItHasMountsStatuses) {
  EXPECT_EQ(run({"/sbin/mount.zarrfs", "/data", "/mnt", "-o", "colour=red"}), 1);
  EXPECT_EQ(run({"/sbin/mount.zarrfs", "/data"}), 1);
  EXPECT_EQ(run({"/sbin/mount.zarrfs", "/data", "/mnt", "-sfnv", "-t", "zarrfs", "-o", "rw"}), 0);
}

TEST_F(Program, DescribesItselfAsJson) {
  ASSERT_EQ(run({"zarrfs", "--help-json"}), 0);
  const auto document = parse_json(out_.str(), "reference");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ((*document)["commands"].size(), mount_commands().size() + 1);
  EXPECT_EQ(document->at("commands").back()["options"][1]["name"], "word");
  EXPECT_EQ((*document)["mount_options"].size(), mount_options().size());
}

TEST_F(Program, UnmountingWhatIsNotMountedCannotBeDone) {
  EXPECT_EQ(run({"zarrfs", "umount", "/usr"}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("nothing is mounted on /usr"));
}

}  // namespace
}  // namespace zarrfs
