// The grid of the chunks shown: the stored one, one that the user asked for, or, where the stored
// chunks have many shapes and the format shown allows only one, a regular grid near it. Pure
// functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/metadata/metadata.h"
#include "core/present/view_options.h"
#include "core/zarr/layout.h"

namespace zarrfs {

struct ShownGrid {
  std::vector<std::uint64_t> chunk_shape;
  std::vector<std::uint64_t> chunk_counts;
  bool rechunked = false;  ///< The chunks shown are not the stored ones.
  bool clamped =
      false;  ///< They are the stored ones, cut to the array along some axes with one chunk.
  bool refused = false;      ///< What the user asked for is not done.
  std::string reason;        ///< Of rechunking, or why what the user asked for is not done.
  std::string hide_because;  ///< Why there is no such grid; empty nearly always.
};

/// `element_bytes`: of the type shown; 0 for variable-length types. `clamp`: chunks no larger than
/// the array. Where the layout is not regular a grid is made up.
ShownGrid shown_grid(const ArrayMetadata& array, const Layout& layout, std::uint32_t element_bytes,
                     const ViewOptions& options, bool clamp);

/// The largest chunk that is decoded or put together, in bytes: readers hold it in one buffer of
/// numcodecs.
inline constexpr std::uint64_t kMaxDecodedChunk = (std::uint64_t{1} << 31U) - 1;

}  // namespace zarrfs
