// Names of successors and other temporary files that this process is using. A file with such a name
// that is not in use was left: by a process that was killed, or where a race was lost. Thread-safe.
#pragma once

#include <memory>
#include <string>

namespace zarrfs {

/// The last component of a path, in use as long as one of these lives.
using NameInUse = std::shared_ptr<const std::string>;

/// Before the file is made.
NameInUse use_name(const std::string& path);

bool is_in_use(const std::string& name);

}  // namespace zarrfs
