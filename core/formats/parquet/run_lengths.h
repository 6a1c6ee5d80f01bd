// Numbers of few bits as Parquet writes them: runs of one number, and numbers bit by bit, in turn.
// Source: parquet-format, Encodings.md ("Run Length Encoding / Bit-Packing Hybrid").
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// The first `count` numbers of `bytes`, each of `width` bits; kDamaged where there are fewer, or
/// `width` is more than 32.
Result<std::vector<std::uint32_t>> read_run_lengths(ByteView bytes, unsigned width,
                                                    std::size_t count);

}  // namespace zarrfs
