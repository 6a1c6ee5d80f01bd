// The program `zarrfs`: from the words of the command line to a command's exit status.
#pragma once

#include <string>
#include <vector>

#include "core/cli/command.h"

namespace zarrfs {

/// `words`: the command line, the program's name first. With a name of `mount.zarrfs` it is
/// mount(8)'s helper; words that begin with no command's name are those of `zarrfs mount`. The exit
/// status: 0 good, 1 damage or a difference was found, 2 usage, 3 could not.
int run_program(const std::vector<std::string>& words, const Commands& commands,
                const Streams& streams);

/// Commands, their arguments and the mount's options as one JSON document, from which reference
/// pages are made.
std::string reference_json(const CLI::App& program);

}  // namespace zarrfs
