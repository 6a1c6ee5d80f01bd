// What is said of a command line that is not understood.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace zarrfs {

/// For CLI::App::failure_message: the library's own words, in which what the user gave is made
/// printable.
std::string cli_complaint(const CLI::App* app, const CLI::Error& problem);

}  // namespace zarrfs
