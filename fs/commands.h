// The commands of fs/: mounting and unmounting, and what hinders it.
#pragma once

#include <string>
#include <vector>

#include "core/cli/command.h"

namespace zarrfs {

Commands mount_commands();

/// As mount(8) calls it: `mount.zarrfs SOURCE MOUNTPOINT [-sfnvrw] [-o OPTIONS] [-t TYPE]`. `words`
/// without the program's name. The exit status is mount(8)'s: 0 good, 1 usage, 32 mount failure.
int run_mount_helper(const std::vector<std::string>& words, const Streams& streams);

}  // namespace zarrfs
