#include "core/chunks/array_view.h"

#include <algorithm>

#include "core/zarr/tree.h"

namespace zarrfs {

std::uint64_t ArrayView::edge(std::size_t axis) const {
  const auto& shape = presentation.rule == ByteRule::kRechunk ? presentation.chunk_shape
                                                              : reader->layout().chunk_shape();
  return std::max<std::uint64_t>(shape[axis], 1);
}

bool ArrayView::shows_cells() const {
  return !reader->layout().regular() && presentation.rule != ByteRule::kRechunk;
}

AxisRange ArrayView::cells_of(std::size_t axis, std::uint64_t coordinate) const {
  if (shows_cells()) return {coordinate, coordinate};
  const AxisGrid& grid = reader->layout().grid().axes[axis];
  const std::uint64_t begin = coordinate * edge(axis);
  const std::uint64_t length = std::min(edge(axis), grid.extent() - begin);
  return {grid.find(begin), grid.find(begin + length - 1)};
}

ArrayView::Span ArrayView::shown_of(std::size_t axis, std::uint64_t cell) const {
  if (shows_cells()) return {cell, cell + 1};
  const AxisGrid& grid = reader->layout().grid().axes[axis];
  const std::uint64_t begin = grid.begin(cell);
  const std::uint64_t length = std::min(grid.edge(cell), grid.extent() - begin);
  return {begin / edge(axis), divide_up(begin + length, edge(axis))};
}

ShownPlace shown_place(const ArrayView& array, const Coordinates& chunk) {
  ShownPlace place{linear_of(chunk, array.names.counts()), std::nullopt};
  if (array.presentation.rule == ByteRule::kRechunk) return place;
  if (auto stored = array.reader->place_of(chunk)) place.stored = std::move(*stored);
  return place;
}

std::string part_path(const ArrayView& array, const ChunkOrPrefix& part) {
  const bool below_c = array.presentation.keys.kind == ChunkKeyEncoding::Kind::kDefault;
  std::string path = below_c ? join_path(array.path, "c") : array.path;
  for (const std::uint64_t number : part.coordinates)
    path = join_path(path, std::to_string(number));
  return path;
}

}  // namespace zarrfs
