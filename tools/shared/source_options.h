// How a command opens the store that it reads: what is common to all of them.
#pragma once

#include <string>
#include <vector>

#include "core/store/store.h"

namespace zarrfs::tools {

struct SourceOptions {
  std::string remote{};  ///< Of a store at a server: see remote_options().
  std::vector<std::string>
      virtual_prefixes{};                  ///< What chunks that lie elsewhere may be read from.
  LinkPolicy links = LinkPolicy::kFollow;  ///< Of a directory.
};

}  // namespace zarrfs::tools
