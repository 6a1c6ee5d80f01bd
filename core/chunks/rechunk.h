// Chunks of another grid than the stored one: which stored chunks they overlap, and their elements
// put together. Thread-safe.
#pragma once

#include <functional>
#include <optional>

#include "core/chunks/array_view.h"

namespace zarrfs {

/// The first stored chunk that the shown `chunk` overlaps; nothing where all are proven absent.
Result<std::optional<ChunkBytes>> find_overlapped(const ArrayView& array, const Coordinates& chunk);

/// The shown chunks that a stored one overlaps, along an axis.
AxisRange shown_chunks_of(const ArrayView& array, std::size_t axis, std::uint64_t stored);

/// Calls `visit` for each cell of the stored grid that the shown `chunk` overlaps.
Result<void> visit_overlapped_cells(const ArrayView& array, const Coordinates& chunk,
                                    const std::function<Result<void>(const Coordinates&)>& visit);

/// The bytes shown for `chunk`.
Result<Bytes> read_rechunked(const ArrayView& array, const Coordinates& chunk);

/// Calls `visit` for each point of the box of `ranges`, in C order, until it returns false.
void visit_box(const std::vector<AxisRange>& ranges,
               const std::function<bool(const Coordinates&)>& visit);

}  // namespace zarrfs
