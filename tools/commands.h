// The commands of tools/, in the order in which `zarrfs --help` lists them.
#pragma once

#include "core/cli/command.h"

namespace zarrfs {

Commands tool_commands();

}  // namespace zarrfs
