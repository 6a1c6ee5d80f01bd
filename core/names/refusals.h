// Errors that several operations of the view give.
#pragma once

#include <string>

#include "core/base/result.h"

namespace zarrfs {

/// The error of a change that a program may not make, or not now.
inline tl::unexpected<Error> refused(Fault fault, const std::string& path, const std::string& why) {
  return fail(fault, "/" + path + ": " + why);
}

/// What a node stood for is something else by now.
inline tl::unexpected<Error> stale(const std::string& path) {
  return refused(Fault::kStale, path, "another version has taken its place");
}

}  // namespace zarrfs
