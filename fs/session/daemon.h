// The process that serves a mount, from the command line to the unmount.
// One thread; called once in a process. Changes the process: signals, limits, standard descriptors.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "fs/options/options.h"

namespace zarrfs {

struct MountRequest {
  std::string source;
  std::string mountpoint;
  MountSettings settings;
  bool foreground = false;
  std::vector<int> given;  ///< Descriptors that the command line names, see descriptors_in().
};

/// In the foreground: mounts, serves, and returns after the unmount. Otherwise returns when the
/// mount answers, or cannot be; a process of its own serves it. The process's exit status: 0, or 3
/// after one line on `err`.
int run_mount(const MountRequest& request, std::ostream& err);

}  // namespace zarrfs
