// Which processes keep a mount busy, as /proc tells. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace zarrfs {

/// A process that has a file open below a mount, runs a program from it, or stands in it.
struct Holder {
  int process = 0;
  std::string name;  ///< Its program, as /proc/PID/comm has it.
  std::string how;   ///< "working directory", "open file a/0.0", ...
};

/// The processes that hold something at or below `mountpoint` (canonical), one entry each. Those of
/// other users are seen by root only. Asks nothing of the mount. `proc`: where procfs is.
std::vector<Holder> holders_of(const std::string& mountpoint, const std::string& proc = "/proc");

/// "bash (1234): working directory, python3 (99): open file a/0.0"; empty where nobody was seen.
std::string holders_text(const std::vector<Holder>& holders);

/// One process of each other mount namespace in which the mount with this device ("0:53", as
/// mountinfo has it) is still mounted, in the order of their numbers. Processes of others are left
/// out as above.
std::vector<Holder> namespaces_with(const std::string& device, const std::string& proc = "/proc");

}  // namespace zarrfs
