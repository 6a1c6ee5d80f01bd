#include "fs/options/options_help.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/present/profile.h"
#include "fs/options/options.h"

namespace zarrfs {
namespace {

constexpr std::size_t kColumn = 30;

// What one person needs.
constexpr std::array<std::string_view, 10> kFirst = {"ro",          "rw",     "profile", "view",
                                                     "allow_other", "memory", "cache",   "endpoint",
                                                     "anonymous",   "shards"};

bool has(OptionsOf command, const MountOption& option) {
  return command == OptionsOf::kMount || is_for_serving(option);
}

void add_line(std::string& text, std::string left, const std::string& right) {
  left.insert(0, "  ");
  left.resize(std::max(left.size() + 2, kColumn), ' ');
  text += left + right + "\n";
}

void add_option(std::string& text, const MountOption& option) {
  std::string left = option.name;
  if (!option.argument.empty()) left += "=" + option.argument;
  std::string right = option.help;
  if (!option.default_value.empty()) right += " (default: " + option.default_value + ")";
  add_line(text, std::move(left), right);
}

}  // namespace

std::string first_options_help(OptionsOf command) {
  std::string text = "The most used options for -o:\n";
  for (const std::string_view name : kFirst) {
    for (const MountOption& option : mount_options()) {
      if (option.name == name && has(command, option)) add_option(text, option);
    }
  }
  text += "\nAll of them: --help-all. What profile= may be: zarrfs profiles\n";
  return text;
}

std::string all_options_help(OptionsOf command) {
  std::string text;
  std::optional<MountOption::Group> group;
  for (const MountOption& option : mount_options()) {
    if (!has(command, option)) continue;
    if (group != option.group) {
      group = option.group;
      text += "\n" + mount_option_group_title(option.group) + ":\n";
    }
    add_option(text, option);
  }
  text += "\nProfiles:\n";
  add_line(text, kAutoProfile, kAutoSummary);
  for (const Profile& profile : profiles()) add_line(text, profile.name, profile.summary);
  return text;
}

void declare_options_help(CLI::App& app, OptionsOf command) {
  app.footer(first_options_help(command));
  const auto all = [&app, command] {
    app.footer(all_options_help(command));
    throw CLI::CallForHelp();
  };
  app.add_flag_callback("--help-all", all, "Print this help message with all options for -o")
      ->trigger_on_parse();
}

}  // namespace zarrfs
