// Nodes of Zarr v2 that no file of a store says: their documents in the words of v3.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace zarrfs {

/// The `zarr.json` that says what the `.zarray` and `.zattrs` (empty where there is none) of the
/// array at `path` say. What v3 has no word for is there under its own name, so that who reads it
/// names it. kDamaged for malformed documents.
Result<std::string> told_array(std::string_view zarray, std::string_view zattrs,
                               const std::string& path);

/// The same of a `.zgroup`.
Result<std::string> told_group(std::string_view zgroup, std::string_view zattrs,
                               const std::string& path);

}  // namespace zarrfs
