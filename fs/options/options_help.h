// What `--help` and `--help-all` of the commands with mount options print. Thread-safe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace zarrfs {

enum class OptionsOf { kMount, kServe };

/// Those of the options that most people need.
std::string first_options_help(OptionsOf command);
/// All that the command has, and the profiles.
std::string all_options_help(OptionsOf command);

/// `--help` ends with the first of them, `--help-all` with all.
void declare_options_help(CLI::App& app, OptionsOf command);

}  // namespace zarrfs
