// Blosc2's chunks decoded by libblosc2, which is optional: Debian 12 does not have it, and a build
// finds it by pkg-config. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// Whether this program was built with libblosc2.
bool has_blosc2();

/// The `size` bytes that a chunk decodes to; kDamaged where it is cut, decodes to another number of
/// bytes, or not at all.
Result<Bytes> decode_blosc2(ByteView chunk, std::uint64_t size);

}  // namespace zarrfs
