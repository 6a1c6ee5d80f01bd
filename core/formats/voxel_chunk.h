// Chunks of voxels as formats store them, made into chunks as Zarr has them: decompressed, decoded,
// and, where the volume cut them, made whole. Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// Decompresses with the codec of that name and its default configuration; a result of more than
/// `limit` bytes is kDamaged.
Result<Bytes> decompress(const std::string& codec, ByteView bytes, std::uint64_t limit);

/// Voxels along x, y and z.
using Extent3 = std::array<std::uint64_t, 3>;

/// The voxels of `part` (x fastest, then y, z and channel) in a chunk of `whole` voxels, whose
/// others are 0. part.bytes = voxels * channels * item; `part` is nowhere larger than `whole`.
Bytes made_whole(ByteView part, const Extent3& cut, const Extent3& whole, std::uint64_t channels,
                 std::uint64_t item);

/// The bytes of a gzip file that holds `size` bytes as they are, and that file.
std::uint64_t stored_gzip_size(std::uint64_t size);
Bytes stored_gzip(ByteView bytes);

}  // namespace zarrfs
