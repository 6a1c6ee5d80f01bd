// Names of zarrfs's own files in a store. Pure functions.
#pragma once

#include <string_view>

namespace zarrfs {

/// In the root of a store that a conversion has not finished.
inline constexpr const char* kConversionMarker = ".zarrfs-conversion";

/// Whether a file at `path` is zarrfs's own: in `.zarrfs` of the store, or of such a name under
/// whatever directory.
inline bool is_own_path(std::string_view path) {
  return path.starts_with(".zarrfs") || path.find("/.zarrfs") != std::string_view::npos;
}

}  // namespace zarrfs
