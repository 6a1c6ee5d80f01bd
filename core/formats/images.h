// JPEG and PNG images whose pixels, row after row, are the voxels of a chunk.
// Source: neuroglancer, src/datasource/precomputed/volume.md ("jpeg encoding", "png encoding").
// Thread-safe.
#pragma once

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// What an image must be.
struct ImageForm {
  std::uint64_t pixels = 0;    ///< Width times height.
  std::uint64_t channels = 1;  ///< Of a pixel.
  std::uint64_t sample = 1;    ///< Bytes of a channel's value: 1, or 2 (PNG only).
};

/// The values channel by channel, each in order of the pixels; little-endian. kDamaged where the
/// image is broken or has another form, with both forms' numbers.
Result<Bytes> decode_jpeg(ByteView encoded, const ImageForm& form);
Result<Bytes> decode_png(ByteView encoded, const ImageForm& form);

}  // namespace zarrfs
