// A profile as a file: what one more family of readers can read, which no row of the table says.
//   {"profile": "generic", "compressors": ["blosc", "zlib"], "big_endian": false}
// `profile` names the row it starts from (generic where it is not given); every other member is a
// column of the table, or `separator`. `zarrfs profiles NAME` prints a row as such a file. Reads
// files of this machine, which its user names; thread-safe.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/present/profile.h"
#include "core/present/view_options.h"

namespace zarrfs {

/// Whether `text` is the path of such a file, which has a "/" or ends in ".json", and no profile's
/// name.
bool is_profile_file(const std::string& text);

/// Chooses the profile that `text` names for `options`, or the one of that file. kInvalid, naming
/// the file, the member and the value, where it is none; errors of reading as they are.
Result<void> take_profile(ViewOptions& options, const std::string& text);

/// The row as such a file.
std::string profile_as_file(const Profile& profile);

}  // namespace zarrfs
