#include "fs/program.h"

#include <filesystem>
#include <functional>

#include "core/base/printable.h"
#include "core/base/version.h"
#include "core/cli/complaint.h"
#include "core/cli/exit_code.h"
#include "core/cli/lengths.h"
#include "fs/commands.h"

namespace zarrfs {
namespace {

constexpr const char* kSummary =
    "Shows sharded Zarr v3 stores as one file per chunk, for programs that read Zarr v2";

bool is_for_the_program(const std::string& word) {
  return word == "--help" || word == "-h" || word == "--version" || word == "--help-json";
}

bool is_command(const Commands& commands, const std::string& word) {
  for (const auto& command : commands) {
    if (command->name() == word) return true;
  }
  return false;
}

/// The words after the program's name, `mount` put first where they name no command.
std::vector<std::string> complete(const std::vector<std::string>& words, const Commands& commands) {
  std::vector<std::string> completed = join_lengths({words.begin() + 1, words.end()});
  if (!completed.empty() && !is_for_the_program(completed.front()) &&
      !is_command(commands, completed.front())) {
    completed.insert(completed.begin(), "mount");
  }
  return completed;
}

}  // namespace

int run_program(const std::vector<std::string>& words, const Commands& commands,
                const Streams& streams) {
  if (std::filesystem::path(words.front()).filename() == "mount.zarrfs") {
    return run_mount_helper({words.begin() + 1, words.end()}, streams);
  }
  CLI::App program(kSummary, "zarrfs");
  program.footer("`zarrfs SOURCE [MOUNTPOINT]` is short for `zarrfs mount SOURCE [MOUNTPOINT]`.");
  program.failure_message(cli_complaint);
  program.set_version_flag("--version", std::string("zarrfs ") + kProgramVersion);
  bool as_json = false;
  program.add_flag("--help-json", as_json, "Describe all commands and options as JSON");
  program.require_subcommand(0, 1);
  for (const auto& command : commands) {
    command->declare(*program.add_subcommand(command->name(), command->summary()));
  }
  std::vector<std::string> completed = complete(words, commands);
  if (completed.size() == 2 && words.size() == 2 && !words[1].starts_with('-')) {
    std::error_code problem;
    if (!std::filesystem::exists(words[1], problem) && words[1].find("://") == std::string::npos) {
      streams.err << "zarrfs: \"" << printable(words[1])
                  << "\" is neither a command nor a store; see zarrfs --help\n";
      return kUsage;
    }
  }
  try {
    program.parse(std::vector<std::string>(completed.rbegin(), completed.rend()));
  } catch (const CLI::ParseError& problem) {
    return program.exit(problem, streams.out, streams.err) == 0 ? 0 : kUsage;
  }
  if (as_json) {
    streams.out << reference_json(program);
    return 0;
  }
  for (const auto& command : commands) {
    if (program.got_subcommand(command->name())) return command->run(streams);
  }
  streams.err << program.help();
  return kUsage;
}

}  // namespace zarrfs
