// The process of `zarrfs serve`, from the command line to its end. One thread; called once in a
// process. Changes the process: signals, limits.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "fs/options/options.h"
#include "fs/serve/access.h"
#include "fs/serve/server.h"

namespace zarrfs {

struct ServeRequest {
  std::string source;
  MountSettings settings;
  ServerSettings server;
  AccessRules access;
  bool statistics = false;  ///< See SiteSettings.
};

/// Serves until SIGINT or SIGTERM. The exit status: 0, or 3 after one line on `err`. `out` hears
/// where it is served.
int run_serve(ServeRequest request, std::ostream& out, std::ostream& err);

}  // namespace zarrfs
