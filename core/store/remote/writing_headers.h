// Names and values that writing to a server shares.
#pragma once

namespace zarrfs {

/// The note that a writer leaves with an object.
inline constexpr const char* kNoteHeader = "x-amz-meta-zarrfs-writes";
/// An ETag that no object has.
inline constexpr const char* kStaleTag = "\"00000000000000000000000000000000\"";

}  // namespace zarrfs
