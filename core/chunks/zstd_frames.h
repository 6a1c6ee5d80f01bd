// Whether the zstd frames of an array tell their content size: numcodecs and GDAL cannot decode
// frames that do not. Source: RFC 8878, 3.1.1.1 ("Frame_Header"). Pure functions but for sampling,
// which reads a few chunks; thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/chunks/shard_directory.h"
#include "core/codecs/codec.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// Bytes of a frame that tell whether it has its content size.
inline constexpr std::uint64_t kZstdFrameStart = 5;

/// Where in a stored chunk its zstd frame begins, if zstd is the last codec of `chain` but for
/// checksums.
std::optional<std::uint64_t> zstd_frame_offset(const CodecChain& chain);

/// Whether `start`, the first bytes of a chunk's frame, is a zstd frame without content size.
bool zstd_lacks_size(ByteView start);

/// Whether one of the first chunks of the array is such a frame. What cannot be read does not
/// count.
bool sampled_zstd_lacks_size(ArrayReader& reader, ShardDirectory& cells);

}  // namespace zarrfs
