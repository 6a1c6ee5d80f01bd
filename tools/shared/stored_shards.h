// Which shards the directory of an array holds.
// Source: Zarr v3 core ("Chunk key encoding"), Zarr v2 specification.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metadata/metadata.h"
#include "core/store/store.h"

namespace zarrfs::tools {

struct StoredShards {
  std::vector<std::uint64_t>
      cells;  ///< Where they are: linear numbers, in C order of the grid, ascending.
  std::vector<std::string> outside;  ///< Keys of shards beyond the grid (after a resize).
  std::vector<std::string> others;   ///< Files and directories that are neither, without metadata.
};

/// Lists the directory of the array at `path`. Costs one listing of each directory; memory grows by
/// eight bytes for each shard.
Result<StoredShards> list_shards(Store& store, const std::string& path, const ArrayMetadata& array);

/// The coordinates that a key stands for; nothing where it is not a key as ChunkKeyEncoding writes
/// it. The coordinates may lie outside the grid.
std::optional<std::vector<std::uint64_t>> parse_key(const ChunkKeyEncoding& encoding,
                                                    std::size_t rank, std::string_view key);

/// "1.2.3" -> {1, 2, 3}; for rank 0 "0" and "". kInvalid, with reason, where it is not a chunk of
/// `counts`.
Result<std::vector<std::uint64_t>> parse_coordinates(std::string_view text,
                                                     const std::vector<std::uint64_t>& counts);

/// "1.2.3"; "0" for rank 0.
std::string dotted(std::span<const std::uint64_t> coordinates);

/// Whether `name` is one of the documents of a node: zarr.json, .zarray, .zgroup, .zattrs,
/// .zmetadata.
bool is_metadata_name(std::string_view name);

/// Ends the names of what is being made beside what it will replace.
inline constexpr std::string_view kUnfinished = ".zarrfs-new";

/// Whether `name` belongs to zarrfs itself: it begins with ".zarrfs", or ends with kUnfinished.
bool is_own_name(std::string_view name);

}  // namespace zarrfs::tools
