// One frame of zstd that was compressed with a dictionary. Source: RFC 8878. Pure; thread-safe.
#pragma once

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// What `frame` becomes; kDamaged where it is no whole frame, or becomes more than `most` bytes.
/// An empty `dictionary` is none.
Result<Bytes> decode_zstd_with(ByteView dictionary, ByteView frame, std::size_t most);

}  // namespace zarrfs
