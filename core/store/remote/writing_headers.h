// What trying a server's conditions shares.
#pragma once

namespace zarrfs {

/// An ETag that no object has.
inline constexpr const char* kStaleTag = "\"00000000000000000000000000000000\"";

}  // namespace zarrfs
