#include "core/view/chunk_lister.h"

#include <algorithm>

#include "core/view/rechunk.h"

namespace zarrfs {

Result<void> ChunkLister::list_flat(std::uint64_t start, const Sink& sink) {
  if (all_listed()) {
    for (std::uint64_t number = start; number < array_.names.chunks(); ++number) {
      if (!sink(array_.names.part_of(number), number + 1)) return {};
    }
    return {};
  }
  if (array_.presentation.rule == ByteRule::kRechunk) {
    if (start >= array_.names.chunks()) return {};
    Coordinates prefix;
    ZARRFS_CHECK(walk(prefix, coordinates_of(start, array_.names.counts()), true, sink));
    return {};
  }
  ZARRFS_TRY(const std::uint64_t step, positions_per_shard());
  const std::vector<std::uint64_t> cell_counts = array_.reader->layout().grid().counts();
  return array_.cells->visit(start / step, [&](const Coordinates& cell) {
    const std::uint64_t base = linear_of(cell, cell_counts) * step;
    const std::uint64_t first = start > base ? start - base : 0;
    return list_shard(cell, first, base, sink);
  });
}

Result<std::uint64_t> ChunkLister::positions_per_shard() const {
  const Layout& layout = array_.reader->layout();
  if (!layout.sharded()) return std::uint64_t{1};
  std::optional<std::uint64_t> step = 1;
  for (std::size_t stored = 0; stored < layout.order().size() && step; ++stored) {
    std::uint64_t longest = 1;
    for (const EdgeRun& run : layout.grid().axes[layout.order()[stored]].runs()) {
      longest = std::max(longest, run.size);
    }
    const std::uint64_t inner = layout.levels().back().chunk_shape[stored];
    step = checked_multiply(*step, divide_up(longest, std::max<std::uint64_t>(inner, 1)));
  }
  const auto cells = layout.grid().count();
  const auto positions = step && cells ? checked_multiply(*step, *cells) : std::nullopt;
  if (!positions || *positions > (std::uint64_t{1} << 61U)) {
    return fail(Fault::kUnsupported,
                "/" + array_.path + ": more places for chunks than a listing can number");
  }
  return *step;
}

bool ChunkLister::list_shard(const Coordinates& cell, std::uint64_t first, std::uint64_t base,
                             const Sink& sink) {
  const Layout& layout = array_.reader->layout();
  if (!layout.sharded()) return first > 0 || sink({false, cell}, base + 1);
  bool more = true;
  NamedPart part;
  const auto visited = array_.reader->visit_cell(cell, first, [&](const ArrayReader::Visited& one) {
    part.coordinates = one.chunk;
    more = sink(part, base + one.number + 1);
    return more;
  });
  if (!visited) return list_whole_shard(cell, first, base, sink);
  return more;
}

bool ChunkLister::list_whole_shard(const Coordinates& cell, std::uint64_t first, std::uint64_t base,
                                   const Sink& sink) {
  std::vector<AxisRange> box;
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    const NodeState::Span span = array_.shown_of(axis, cell[axis]);
    box.push_back({span.first, span.end - 1});
  }
  std::uint64_t number = 0;
  bool more = true;
  visit_box(box, [&](const Coordinates& chunk) {
    if (number >= first) more = sink({false, chunk}, base + number + 1);
    ++number;
    return more;
  });
  return more;
}

Result<bool> ChunkLister::walk(Coordinates& prefix, const Coordinates& start, bool at_start,
                               const Sink& sink) {
  if (prefix.size() == array_.names.rank()) {
    if (!finder_.is_listed(array_, prefix)) return true;
    return sink({false, prefix}, linear_of(prefix, array_.names.counts()) + 1);
  }
  ZARRFS_TRY(const auto ranges, existing_after(prefix));
  const std::uint64_t from = at_start ? start[prefix.size()] : 0;
  for (const AxisRange& range : ranges) {
    for (std::uint64_t at = std::max(range.first, from); at <= range.last; ++at) {
      const bool still_at_start = at_start && at == from;
      prefix.push_back(at);
      ZARRFS_TRY(const bool more, walk(prefix, start, still_at_start, sink));
      prefix.pop_back();
      if (!more) return false;
    }
  }
  return true;
}

Result<void> ChunkLister::list_prefix(std::span<const std::uint64_t> prefix, std::uint64_t start,
                                      const Sink& sink) {
  const std::size_t axis = prefix.size();
  const bool directory = axis + 1 < array_.names.rank();
  std::vector<AxisRange> ranges;
  if (all_listed()) {
    if (array_.names.counts()[axis] > 0) ranges.push_back({0, array_.names.counts()[axis] - 1});
  } else {
    ZARRFS_TRY(ranges, existing_after(prefix));
  }
  NamedPart part{directory, Coordinates(prefix.begin(), prefix.end())};
  part.coordinates.push_back(0);
  for (const AxisRange& range : ranges) {
    for (std::uint64_t at = std::max(range.first, start); at <= range.last; ++at) {
      part.coordinates.back() = at;
      if (!directory && !finder_.is_listed(array_, part.coordinates)) continue;
      if (!sink(part, at + 1)) return {};
    }
  }
  return {};
}

Result<bool> ChunkLister::prefix_exists(std::span<const std::uint64_t> prefix) {
  if (array_.names.chunks() == 0) return false;
  if (all_listed()) return true;
  if (prefix.empty()) {
    ZARRFS_TRY(const auto first_axis, array_.cells->along_next_axis({}));
    return !first_axis.empty();
  }
  ZARRFS_TRY(const auto ranges, existing_after(prefix.first(prefix.size() - 1)));
  return std::any_of(ranges.begin(), ranges.end(),
                     [&prefix](const AxisRange& range) { return range.holds(prefix.back()); });
}

Result<std::vector<AxisRange>> ChunkLister::existing_after(std::span<const std::uint64_t> prefix) {
  std::vector<AxisRange> fixed;
  for (std::size_t axis = 0; axis < prefix.size(); ++axis) {
    fixed.push_back(array_.cells_of(axis, prefix[axis]));
  }
  ZARRFS_TRY(const auto cells, array_.cells->along_next_axis(fixed));
  std::vector<AxisRange> ranges;
  for (const std::uint64_t cell : cells) {
    const NodeState::Span span = array_.shown_of(prefix.size(), cell);
    const std::uint64_t first =
        ranges.empty() ? span.first : std::max(span.first, ranges.back().last + 1);
    if (first < span.end) ranges.push_back({first, span.end - 1});
  }
  return ranges;
}

}  // namespace zarrfs
