// What this machine is called. Thread-safe.
#pragma once

#include <string>

namespace zarrfs {

/// Empty where the system does not tell.
std::string host_name();

}  // namespace zarrfs
