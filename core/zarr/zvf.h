// The attribute by which zarr-vectors stores list their non-empty cells.
// Source: zarr_vectors 0.9 (`nonempty_chunks`, `chunk_grid_origin`).
#pragma once

#include <optional>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// The attribute that lists the cells.
inline constexpr const char* kNonemptyChunks = "nonempty_chunks";

/// How the attribute of an array with these `attributes` names `chunk`: "-3.0.0".
std::string nonempty_name(const Json& attributes, std::span<const std::uint64_t> chunk);

/// Whether decoded elements of variable length (count, then length and bytes of each) are all
/// empty.
bool payload_is_empty(ByteView elements);

/// The true value of the attribute `nonempty_chunks` of an array that has one; nothing where it has
/// none. `cells` are those of the shards that are there. Names of chunks count from
/// `chunk_grid_origin` and are sorted as strings; cells whose payload is empty are not listed.
/// Decodes every chunk of the array.
Result<std::optional<Json>> true_nonempty_chunks(ArrayReader& reader,
                                                 const std::vector<std::uint64_t>& cells);

}  // namespace zarrfs
