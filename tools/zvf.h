// The attribute by which zarr-vectors stores list their non-empty cells.
// Source: zarr_vectors 0.9 (`nonempty_chunks`, `chunk_grid_origin`).
#pragma once

#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// The true value of the attribute `nonempty_chunks` of an array that has one; nothing where it has
/// none. `cells` are the stored objects present. Names of chunks count from `chunk_grid_origin` and
/// are sorted as strings; cells whose payload is empty are not listed. Decodes every chunk of the
/// array.
Result<std::optional<Json>> true_nonempty_chunks(ArrayReader& reader,
                                                 const std::vector<std::uint64_t>& cells);

}  // namespace zarrfs
