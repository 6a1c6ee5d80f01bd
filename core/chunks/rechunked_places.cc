#include "core/chunks/rechunked_places.h"

#include <algorithm>

#include "core/base/request.h"
#include "core/chunks/rechunk.h"

namespace zarrfs {

namespace {
/// Places that are kept at a time, for which a bit each stands.
constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 28U;
/// Cells that are kept: neighbours share chunks.
constexpr std::size_t kMostCells = 64;
}  // namespace

std::uint64_t RechunkedPlaces::Cell::number_of(const Coordinates& chunk) const {
  std::uint64_t number = 0;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    number = number * (box[axis].end - box[axis].first) + (chunk[axis] - box[axis].first);
  }
  return number;
}

void RechunkedPlaces::mark(Cell& cell, const Coordinates& stored) const {
  std::vector<AxisRange> shown;
  for (std::size_t axis = 0; axis < stored.size(); ++axis) {
    const AxisRange overlap = shown_chunks_of(array_, axis, stored[axis]);
    const ArrayView::Span& within = cell.box[axis];
    shown.push_back(
        {std::max(overlap.first, within.first), std::min(overlap.last, within.end - 1)});
  }
  visit_box(shown, [&](const Coordinates& chunk) {
    cell.there[cell.number_of(chunk)] = true;
    return true;
  });
}

Result<RechunkedPlaces::Cell> RechunkedPlaces::read(const Coordinates& at) const {
  Cell cell;
  std::optional<std::uint64_t> places = 1;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    cell.box.push_back(array_.shown_of(axis, at[axis]));
    const std::uint64_t edge = cell.box.back().end - cell.box.back().first;
    places = places ? checked_multiply(*places, edge) : places;
  }
  cell.counted = places && *places <= kMostPlaces;
  if (!cell.counted) return cell;
  cell.there.resize(*places);
  Result<void> wanted;
  const auto visited = array_.reader->visit_shard(at, 0, [&](const ArrayReader::Visited& one) {
    mark(cell, one.chunk);
    wanted = check_wanted();
    return wanted.has_value();
  });
  ZARRFS_CHECK(wanted);
  if (!visited) cell.there.clear();
  return cell;
}

Result<const RechunkedPlaces::Cell*> RechunkedPlaces::cell_at(const Coordinates& cell) {
  const auto known = cells_.find(cell);
  if (known != cells_.end()) return &known->second;
  if (cells_.size() >= kMostCells) cells_.clear();
  ZARRFS_TRY(Cell made, read(cell));
  return &cells_.emplace(cell, std::move(made)).first->second;
}

Result<bool> RechunkedPlaces::holds(const Coordinates& chunk) {
  bool there = false;
  ZARRFS_CHECK(visit_overlapped_cells(array_, chunk, [&](const Coordinates& at) -> Result<void> {
    if (there) return {};
    ZARRFS_TRY(const Cell* cell, cell_at(at));
    if (!cell->counted) {
      ZARRFS_TRY(const auto stored, find_overlapped(array_, chunk));
      there = stored.has_value();
      return {};
    }
    there = cell->there.empty() || cell->there[cell->number_of(chunk)];
    return {};
  }));
  return there;
}

}  // namespace zarrfs
