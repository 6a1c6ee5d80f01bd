// Which shards the directory of an array holds.
// Source: Zarr v3 core ("Chunk key encoding"), Zarr v2 specification.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metadata/metadata.h"
#include "core/store/store.h"
#include "tools/shared/part.h"

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

/// Whether what listing the shards of an array met is a matter of that array alone.
bool is_of_array(Fault fault);

/// Cells of a grid: on each axis from `first` to `last`.
struct CellBox {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> last;
};

/// The smallest box that holds the cells of `range`, which is not empty; `counts` are those of the
/// grid.
CellBox box_of(const std::vector<std::uint64_t>& counts, NumberRange range);

/// As list_shards(), of `box` only, whose directories alone are listed.
Result<std::vector<std::uint64_t>> list_shards_within(Store& store, const std::string& path,
                                                      const ArrayMetadata& array,
                                                      const CellBox& box);

/// What is directly in the array's directory, but for documents, shards and directories that can
/// hold shards.
Result<std::vector<std::string>> list_beside_shards(Store& store, const std::string& path,
                                                    const ArrayMetadata& array);

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
/// Whether it is a name that zarrfs gives; another is_own_name is somebody's, and no mount shows
/// it.
bool is_given_name(std::string_view name);

}  // namespace zarrfs::tools
