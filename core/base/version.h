// The version of this program. Only version.cc is compiled again when it changes.
#pragma once

namespace zarrfs {

/// "0.2.0"
extern const char* const kProgramVersion;

}  // namespace zarrfs
