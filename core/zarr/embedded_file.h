// Files within shards. ZEP 2 lets bytes of a shard belong to no chunk, so that a shard can be an
// HDF5 or TIFF file as well, whose chunks are the shard's: a shard that is written anew loses it.
// Source: ZEP 2, sharding_indexed; HDF5 file format, III.A ("superblock"); TIFF 6.0, section 2.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// What else the shard at `cell` is, "HDF5" or "TIFF", by a signature in bytes that belong to no
/// chunk and not to the index; nothing where it is a shard only, or absent.
Result<std::optional<std::string>> embedded_file_in(ArrayReader& array,
                                                    std::span<const std::uint64_t> cell);

}  // namespace zarrfs
