// The commands that look into stores, check them and convert them.
#pragma once

#include "core/cli/command.h"

namespace zarrfs::tools {

/// One of each, in the order in which `zarrfs --help` lists them.
Commands tool_commands();

std::unique_ptr<Command> info_command();
std::unique_ptr<Command> show_command();
std::unique_ptr<Command> ls_command();
std::unique_ptr<Command> cat_command();
std::unique_ptr<Command> locate_command();
std::unique_ptr<Command> verify_command();
std::unique_ptr<Command> refs_command();
std::unique_ptr<Command> diff_command();
std::unique_ptr<Command> shard_command();
std::unique_ptr<Command> unshard_command();
std::unique_ptr<Command> reshard_command();
std::unique_ptr<Command> compact_command();
std::unique_ptr<Command> mark_command();
std::unique_ptr<Command> recover_command();
std::unique_ptr<Command> map_command();
std::unique_ptr<Command> stats_command();
std::unique_ptr<Command> profiles_command();

}  // namespace zarrfs::tools
