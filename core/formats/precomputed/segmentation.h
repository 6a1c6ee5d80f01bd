// compressed_segmentation: blocks of labels, each with a table of its labels and a few bits a
// voxel. Source: neuroglancer, src/sliceview/compressed_segmentation/README.md. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// The form of one chunk: voxels along x, y, z, the channels, and bytes of a label (4 or 8).
struct SegmentationForm {
  std::array<std::uint64_t, 3> shape{};
  std::uint64_t channels = 1;
  std::uint64_t label_bytes = 4;
  std::array<std::uint64_t, 3> block{8, 8, 8};
};

/// The labels, x fastest, then y, z and channel; little-endian. kDamaged, with block and numbers,
/// where a table or values lie outside `encoded`. Elements of the form fit 63 bits.
Result<Bytes> decode_segmentation(ByteView encoded, const SegmentationForm& form);

}  // namespace zarrfs
