// Reading a part of an open file. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// Fills `out` from `offset`; kStale where the file ends before.
Result<void> read_exactly(int descriptor, std::uint64_t offset, MutableByteView out);

}  // namespace zarrfs
