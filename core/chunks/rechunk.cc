#include "core/chunks/rechunk.h"

#include <algorithm>
#include <cstring>

#include "core/base/request.h"
#include "core/codecs/decoding_room.h"

namespace zarrfs {

namespace {
/// The largest chunk that is put together in memory.
constexpr std::uint64_t kMaxAssembled = std::uint64_t{1} << 31U;

/// Stored chunks that a shown one may be put together of: work for one request is bounded.
constexpr std::uint64_t kMostStored = std::uint64_t{1} << 16U;

Result<void> check_work(const std::vector<AxisRange>& ranges) {
  std::optional<std::uint64_t> count = 1;
  for (const AxisRange& range : ranges) {
    count = count ? checked_multiply(*count, range.last - range.first + 1) : count;
  }
  if (count && *count <= kMostStored) return {};
  return fail(Fault::kUnsupported, "a chunk of this grid is put together of more than " +
                                       std::to_string(kMostStored) +
                                       " stored ones; mount with a rechunk= of smaller chunks");
}

/// One axis of a stored chunk.
struct StoredEdge {
  std::uint64_t begin = 0;   // first element
  std::uint64_t length = 0;  // elements
};

StoredEdge stored_edge(const Layout& layout, std::size_t axis, std::uint64_t index) {
  if (!layout.regular()) {
    const AxisGrid& grid = layout.grid().axes[axis];
    return {grid.begin(index), grid.edge(index)};
  }
  const std::uint64_t length = layout.chunk_shape()[axis];
  return {index * length, length};
}

/// The stored chunk that holds element `position` of an axis.
std::uint64_t stored_index(const Layout& layout, std::size_t axis, std::uint64_t position) {
  if (!layout.regular()) return layout.grid().axes[axis].find(position);
  return position / layout.chunk_shape()[axis];
}

/// Stored chunks that the shown `chunk` overlaps, along each axis.
std::vector<AxisRange> overlapped(const ArrayView& array, const Coordinates& chunk) {
  const Layout& layout = array.reader->layout();
  std::vector<AxisRange> ranges;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    const std::uint64_t begin = chunk[axis] * array.edge(axis);
    const std::uint64_t extent = layout.grid().axes[axis].extent();
    const std::uint64_t length = std::min(array.edge(axis), extent - begin);
    ranges.push_back(
        {stored_index(layout, axis, begin), stored_index(layout, axis, begin + length - 1)});
  }
  return ranges;
}

/// Room for a shown chunk of `size` bytes, twice, and for decoding one stored chunk at a time.
Result<DecodingRoom> room_to_assemble(const Layout& layout, std::uint64_t size, std::size_t item) {
  constexpr std::uint64_t kOverhead = std::uint64_t{1} << 20U;    // Of codecs, whatever the size.
  std::optional<std::uint64_t> stored = 3 * std::uint64_t{item};  // Encoded, between, decoded.
  for (std::size_t axis = 0; axis < layout.chunk_counts().size(); ++axis) {
    const std::uint64_t edge =
        layout.regular() ? layout.chunk_shape()[axis] : layout.grid().axes[axis].largest_edge();
    stored = stored ? checked_multiply(*stored, edge) : stored;
  }
  const auto all = stored ? checked_add(*stored, 2 * size + kOverhead) : stored;
  return DecodingRoom::take(all.value_or(~std::uint64_t{0}));
}

/// One axis of the part that two boxes of elements share.
struct Shared {
  std::uint64_t from = 0;    // first element within the stored chunk
  std::uint64_t to = 0;      // first element within the shown chunk
  std::uint64_t length = 0;  // elements
};

Shared share(const StoredEdge& stored, std::uint64_t shown_begin, std::uint64_t shown_edge) {
  const std::uint64_t begin = std::max(stored.begin, shown_begin);
  const std::uint64_t end = std::min(stored.begin + stored.length, shown_begin + shown_edge);
  return {begin - stored.begin, begin - shown_begin, end - begin};
}

/// Copies the part of `from` (of `from_shape`) into `to` (of `to_shape`), row by row.
void copy_part(ByteView from, std::span<const std::uint64_t> from_shape, MutableByteView to,
               std::span<const std::uint64_t> to_shape, const std::vector<Shared>& parts,
               std::size_t item) {
  if (parts.empty()) {
    std::memcpy(to.data(), from.data(), item);
    return;
  }
  std::vector<AxisRange> rows;
  for (std::size_t axis = 0; axis + 1 < parts.size(); ++axis) {
    rows.push_back({0, parts[axis].length - 1});
  }
  const Shared& last = parts.back();
  visit_box(rows, [&](const Coordinates& row) {
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    for (std::size_t axis = 0; axis < parts.size(); ++axis) {
      const std::uint64_t at = axis < row.size() ? row[axis] : 0;
      source = source * from_shape[axis] + parts[axis].from + at;
      target = target * to_shape[axis] + parts[axis].to + at;
    }
    std::memcpy(&to[target * item], &from[source * item], last.length * item);
    return true;
  });
}
}  // namespace

void visit_box(const std::vector<AxisRange>& ranges,
               const std::function<bool(const Coordinates&)>& visit) {
  Coordinates at;
  for (const AxisRange& range : ranges) {
    if (range.first > range.last) return;
    at.push_back(range.first);
  }
  while (visit(at)) {
    std::size_t axis = at.size();
    while (axis > 0 && at[axis - 1] == ranges[axis - 1].last) {
      --axis;
      at[axis] = ranges[axis].first;
    }
    if (axis == 0) return;
    ++at[axis - 1];
  }
}

AxisRange shown_chunks_of(const ArrayView& array, std::size_t axis, std::uint64_t stored) {
  const Layout& layout = array.reader->layout();
  const StoredEdge edge = stored_edge(layout, axis, stored);
  const std::uint64_t end = std::min(edge.begin + edge.length, layout.grid().axes[axis].extent());
  return {edge.begin / array.edge(axis), (std::max(end, edge.begin + 1) - 1) / array.edge(axis)};
}

Result<std::optional<ChunkBytes>> find_overlapped(const ArrayView& array,
                                                  const Coordinates& chunk) {
  const std::vector<AxisRange> ranges = overlapped(array, chunk);
  ZARRFS_CHECK(check_work(ranges));
  Result<std::optional<ChunkBytes>> found = std::optional<ChunkBytes>{};
  visit_box(ranges, [&](const Coordinates& stored) {
    found = array.reader->find_chunk(stored);
    if (auto wanted = check_wanted(); !wanted) found = fail(wanted.error());
    return found && !*found;
  });
  return found;
}

Result<void> visit_overlapped_cells(const ArrayView& array, const Coordinates& chunk,
                                    const std::function<Result<void>(const Coordinates&)>& visit) {
  std::vector<AxisRange> cells;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    cells.push_back(array.cells_of(axis, chunk[axis]));
  }
  ZARRFS_CHECK(check_work(cells));
  Result<void> result;
  visit_box(cells, [&](const Coordinates& cell) {
    result = check_wanted();
    if (result) result = visit(cell);
    return result.has_value();
  });
  return result;
}

Result<Bytes> read_rechunked(const ArrayView& array, const Coordinates& chunk) {
  const Presentation& shown = array.presentation;
  const ArrayMetadata& metadata = array.reader->metadata();
  const Layout& layout = array.reader->layout();
  const std::size_t item = metadata.type.size;
  const auto elements = checked_product(shown.chunk_shape);
  const auto size = elements ? checked_multiply(*elements, item) : std::nullopt;
  if (!size || *size == 0 || *size > kMaxAssembled || metadata.fill.size() != item) {
    return fail(Fault::kUnsupported,
                "a chunk of another grid must have 1 byte to 2 GiB, of elements of fixed size");
  }
  const std::vector<AxisRange> ranges = overlapped(array, chunk);
  ZARRFS_CHECK(check_work(ranges));
  ZARRFS_TRY(const DecodingRoom room, room_to_assemble(layout, *size, item));
  Bytes assembled(*size);
  for (std::size_t at = 0; at < assembled.size(); at += item) {
    std::memcpy(&assembled[at], metadata.fill.data(), item);
  }
  Result<void> result;
  visit_box(ranges, [&](const Coordinates& stored) {
    result = check_wanted();
    if (!result) return false;
    const auto place = array.reader->find_chunk(stored);
    if (!place) result = fail(place.error());
    if (!place || !*place) return place.has_value();
    const auto bytes = array.reader->read_elements(stored);
    if (!bytes) {
      result = fail(bytes.error());
      return false;
    }
    std::vector<std::uint64_t> stored_shape;
    std::vector<Shared> parts;
    for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
      const StoredEdge edge = stored_edge(layout, axis, stored[axis]);
      stored_shape.push_back(edge.length);
      parts.push_back(share(edge, chunk[axis] * shown.chunk_shape[axis], shown.chunk_shape[axis]));
    }
    if (bytes->size() / item != checked_product(stored_shape).value_or(0)) {
      result = fail(Fault::kDamaged, "a stored chunk decodes to " + std::to_string(bytes->size()) +
                                         " bytes, which is not its shape");
      return false;
    }
    copy_part(*bytes, stored_shape, assembled, shown.chunk_shape, parts, item);
    return true;
  });
  ZARRFS_CHECK(result);
  return shown.present_elements(assembled);
}

}  // namespace zarrfs
