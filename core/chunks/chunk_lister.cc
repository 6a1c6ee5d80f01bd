#include "core/chunks/chunk_lister.h"

#include <algorithm>

#include "core/base/request.h"
#include "core/chunks/rechunk.h"
#include "core/write/shard_builder.h"

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
  return visit_cells(start / step, [&](const Coordinates& cell, bool written) {
    const std::uint64_t base = linear_of(cell, cell_counts) * step;
    const std::uint64_t first = start > base ? start - base : 0;
    return list_shard({cell, written, first, base}, sink);
  });
}

std::vector<Coordinates> ChunkLister::written_cells() const {
  const WriteBuffer* writes = finder_.writes();
  return writes == nullptr ? std::vector<Coordinates>{} : writes->dirty_cells(*array_.reader);
}

Result<void> ChunkLister::visit_cells(std::uint64_t first, const ShardVisitor& visit) {
  const std::vector<Coordinates> written = written_cells();
  const std::vector<std::uint64_t> counts = array_.reader->layout().grid().counts();
  auto next = std::find_if(written.begin(), written.end(), [&](const Coordinates& cell) {
    return linear_of(cell, counts) >= first;
  });
  bool more = true;
  ZARRFS_CHECK(array_.cells->visit(first, [&](const Coordinates& cell) {
    for (; more && next != written.end() && *next < cell; ++next) more = visit(*next, true);
    const bool is_written = more && next != written.end() && *next == cell;
    if (is_written) ++next;
    more = more && visit(cell, is_written);
    return more;
  }));
  for (; more && next != written.end(); ++next) more = visit(*next, true);
  return {};
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

bool ChunkLister::list_shard(const ListedShard& listed, const Sink& sink) {
  expect_indexes(listed.cell);
  const Coordinates& cell = listed.cell;
  const std::uint64_t first = listed.first;
  const std::uint64_t base = listed.base;
  const Layout& layout = array_.reader->layout();
  if (const WriteBuffer* writes = finder_.writes(); writes != nullptr && !writes->clean()) {
    const auto drafts = writes->drafts(*array_.reader, cell);
    if (!drafts.empty()) return list_written_shard(listed, drafts, sink);
  }
  if (!layout.sharded()) {
    if (first > 0) return true;
    return (listed.written && was_removed(cell)) || sink({false, cell}, base + 1);
  }
  bool more = true;
  ChunkOrPrefix part;
  const auto visited =
      array_.reader->visit_shard(cell, first, [&](const ArrayReader::Visited& one) {
        part.coordinates = one.chunk;
        more = sink(part, base + one.number + 1);
        return more;
      });
  if (!visited) return list_whole_shard(listed, false, sink);
  return more;
}

void ChunkLister::expect_indexes(const Coordinates& cell) {
  const Layout& layout = array_.reader->layout();
  array_.cells->expect_indexes(linear_of(cell, layout.grid().counts()), layout);
}

Result<bool> ChunkLister::is_listed(const Coordinates& chunk) {
  if (array_.presentation.rule == ByteRule::kRechunk && !all_listed()) {
    const auto held = rechunked_.holds(chunk);
    ZARRFS_CHECK(check_wanted());
    return held.value_or(true);  // what cannot be told is listed: opening it is the error
  }
  // A write that is put into its shard meanwhile must be found there.
  ShardInHand* const hand = finder_.writes() == nullptr ? &hand_ : nullptr;
  return finder_.is_listed(array_, chunk, stored_only_, hand);
}

/// What was written may have been a removal, which a commit has carried out since.
bool ChunkLister::was_removed(const Coordinates& cell) {
  const auto status = array_.reader->shard_status(cell);
  return status && !*status;
}

bool ChunkLister::list_written_shard(const ListedShard& listed,
                                     const std::map<std::uint64_t, Draft>& drafts,
                                     const Sink& sink) {
  const Coordinates& cell = listed.cell;
  const std::uint64_t first = listed.first;
  const std::uint64_t base = listed.base;
  const Layout& layout = array_.reader->layout();
  std::map<std::uint64_t, Coordinates> chunks;
  if (layout.sharded()) {
    const auto visited =
        array_.reader->visit_shard(cell, first, [&](const ArrayReader::Visited& one) {
          chunks.emplace(one.number, one.chunk);
          return true;
        });
    if (!visited) return list_whole_shard(listed, true, sink);
  }
  for (const auto& [number, draft] : drafts) {
    chunks.erase(number);
    if (draft.removed || number < first) continue;
    auto chunk = layout.chunk_at({cell, entries_of(layout, cell, number)});
    if (chunk) chunks.emplace(number, std::move(*chunk));
  }
  for (const auto& [number, chunk] : chunks) {
    if (!sink({false, chunk}, base + number + 1)) return false;
  }
  return true;
}

bool ChunkLister::list_whole_shard(const ListedShard& listed, bool has_drafts, const Sink& sink) {
  finder_.named_untold();
  std::vector<AxisRange> box;
  for (std::size_t axis = 0; axis < listed.cell.size(); ++axis) {
    const ArrayView::Span span = array_.shown_of(axis, listed.cell[axis]);
    box.push_back({span.first, span.end - 1});
  }
  std::uint64_t number = 0;
  bool more = true;
  visit_box(box, [&](const Coordinates& chunk) {
    const bool there = !has_drafts || is_listed(chunk).value_or(true);
    if (number >= listed.first && there) more = sink({false, chunk}, listed.base + number + 1);
    ++number;
    return more && !request_ended();
  });
  return more;
}

Result<bool> ChunkLister::walk(Coordinates& prefix, const Coordinates& start, bool at_start,
                               const Sink& sink) {
  if (prefix.size() == array_.names.rank()) {
    ZARRFS_TRY(const bool listed, is_listed(prefix));
    if (!listed) return true;
    return sink({false, prefix}, linear_of(prefix, array_.names.counts()) + 1);
  }
  ZARRFS_TRY(const auto ranges, existing_after(prefix));
  const std::uint64_t from = at_start ? start[prefix.size()] : 0;
  for (const AxisRange& range : ranges) {
    for (std::uint64_t at = std::max(range.first, from); at <= range.last; ++at) {
      ZARRFS_CHECK(check_wanted());
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
  ChunkOrPrefix part{directory, Coordinates(prefix.begin(), prefix.end())};
  part.coordinates.push_back(0);
  if (!directory && !all_listed() && !ranges.empty()) {
    part.coordinates.back() = ranges.front().first;
    const auto place = array_.reader->place_of(part.coordinates);
    if (place && array_.presentation.rule != ByteRule::kRechunk) expect_indexes(place->cell);
  }
  for (const AxisRange& range : ranges) {
    for (std::uint64_t at = std::max(range.first, start); at <= range.last; ++at) {
      ZARRFS_CHECK(check_wanted());
      part.coordinates.back() = at;
      if (!directory) {
        ZARRFS_TRY(const bool listed, is_listed(part.coordinates));
        if (!listed) continue;
      }
      if (directory && !all_listed() && finder_.writes() != nullptr) {
        ZARRFS_TRY(const bool any, any_below(part.coordinates));
        if (!any) continue;
      }
      if (!sink(part, at + 1)) return {};
    }
  }
  return {};
}

Result<bool> ChunkLister::prefix_exists(std::span<const std::uint64_t> prefix) {
  if (array_.names.chunks() == 0) return false;
  if (all_listed()) return true;
  // A program that writes makes each directory itself, and would find one that a shard overlaps.
  if (finder_.writes() != nullptr) return any_below(prefix);
  if (prefix.empty()) {
    ZARRFS_TRY(const auto first_axis, array_.cells->along_next_axis({}));
    return !first_axis.empty();
  }
  ZARRFS_TRY(const auto ranges, existing_after(prefix.first(prefix.size() - 1)));
  return std::any_of(ranges.begin(), ranges.end(),
                     [&prefix](const AxisRange& range) { return range.holds(prefix.back()); });
}

std::vector<AxisRange> ChunkLister::cells_of(std::span<const std::uint64_t> prefix) const {
  std::vector<AxisRange> cells;
  for (std::size_t axis = 0; axis < prefix.size(); ++axis) {
    cells.push_back(array_.cells_of(axis, prefix[axis]));
  }
  return cells;
}

Result<bool> ChunkLister::any_below(std::span<const std::uint64_t> prefix, const Counts& counts) {
  bool any = false;
  Coordinates at(prefix.begin(), prefix.end());
  const Coordinates start(array_.names.rank(), 0);
  ZARRFS_TRY(const bool searched_all,
             walk(at, start, false, [&](const ChunkOrPrefix& part, std::uint64_t) {
               any = counts(part.coordinates);
               return !any;
             }));
  return any && !searched_all;
}

Result<std::vector<AxisRange>> ChunkLister::existing_after(std::span<const std::uint64_t> prefix) {
  const std::vector<AxisRange> fixed = cells_of(prefix);
  // First what is written, then what is stored: a commit between the two makes it both, not
  // neither.
  const std::vector<Coordinates> written = written_cells();
  ZARRFS_TRY(auto cells, array_.cells->along_next_axis(fixed));
  add_written(written, fixed, cells);
  std::vector<AxisRange> ranges;
  for (const std::uint64_t cell : cells) {
    const ArrayView::Span span = array_.shown_of(prefix.size(), cell);
    const std::uint64_t first =
        ranges.empty() ? span.first : std::max(span.first, ranges.back().last + 1);
    if (first < span.end) ranges.push_back({first, span.end - 1});
  }
  return ranges;
}

void ChunkLister::add_written(const std::vector<Coordinates>& written,
                              std::span<const AxisRange> fixed, std::vector<std::uint64_t>& cells) {
  if (written.empty()) return;
  for (const Coordinates& cell : written) {
    bool inside = true;
    for (std::size_t axis = 0; axis < fixed.size(); ++axis) {
      inside = inside && fixed[axis].holds(cell[axis]);
    }
    if (inside) cells.push_back(cell[fixed.size()]);
  }
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
}

}  // namespace zarrfs
