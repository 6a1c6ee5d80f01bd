// zarrfs profiles: the families of readers, and one of them as a file to change.
#include <algorithm>

#include "core/base/printable.h"
#include "core/present/profile_file.h"
#include "tools/commands.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {
namespace {

constexpr std::size_t kColumn = 10;

class Profiles final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "profiles"; }
  [[nodiscard]] std::string summary() const override {
    return "List the profiles, or print one as a file for profile=FILE.json";
  }

  void declare(CLI::App& app) override {
    app.add_option("PROFILE", profile_, "The profile to print; without it, all are listed");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    if (profile_.empty()) {
      list(console);
      return kGood;
    }
    const auto& table = profiles();
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const Profile& one) { return one.name == profile_; });
    if (found == table.end()) {
      return console.failed({Fault::kInvalid, "\"" + printable(profile_) +
                                                  "\" is no profile; zarrfs profiles lists them"});
    }
    console.out << profile_as_file(*found);
    return kGood;
  }

 private:
  static void list(const Console& console) {
    const auto add = [&](std::string left, const std::string& summary) {
      left.resize(std::max(left.size() + 2, kColumn), ' ');
      console.out << left << summary << '\n';
    };
    add(kAutoProfile, kAutoSummary);
    for (const Profile& profile : profiles()) add(profile.name, profile.summary);
  }

  std::string profile_;
};

}  // namespace

std::unique_ptr<Command> profiles_command() { return std::make_unique<Profiles>(); }

}  // namespace zarrfs::tools
