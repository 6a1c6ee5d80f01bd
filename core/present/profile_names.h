// Lists of names in the columns of profiles, as options spell them: "blosc+zlib", "none" for no
// names. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace zarrfs {

/// Nothing is as "none".
std::vector<std::string> split_profile_names(const std::string& text);
std::string join_profile_names(const std::vector<std::string>& names);

}  // namespace zarrfs
