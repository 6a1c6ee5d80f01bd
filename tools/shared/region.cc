#include "tools/shared/region.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/base/request.h"
#include "core/metadata/grid.h"

namespace zarrfs::tools {
namespace {

// Items of the wire format of vlen-utf8: count, then each item's length and bytes.
Result<std::vector<std::string>> items_of(ByteView bytes) {
  constexpr std::size_t kWord = 4;
  const auto broken = [] {
    return fail(Fault::kDamaged, "elements of variable length end too early");
  };
  if (bytes.size() < kWord) return broken();
  const auto count = load_little<std::uint32_t>(bytes);
  bytes = bytes.subspan(kWord);
  if (count > bytes.size() / kWord) return broken();
  std::vector<std::string> items;
  items.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bytes.size() < kWord) return broken();
    const auto length = load_little<std::uint32_t>(bytes);
    bytes = bytes.subspan(kWord);
    if (length > bytes.size()) return broken();
    items.emplace_back(reinterpret_cast<const char*>(bytes.data()), length);
    bytes = bytes.subspan(length);
  }
  return items;
}

Grid chunk_grid(const ArrayReader& reader) {
  const Layout& layout = reader.layout();
  if (!layout.regular()) return layout.grid();
  Grid grid;
  const auto& shape = reader.metadata().shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    grid.axes.push_back(AxisGrid::regular(shape[axis], layout.chunk_shape()[axis]));
  }
  return grid;
}

// Calls `row` with the first element of each row (run along the last axis) of `box`.
template <class Row>
void for_each_row(const Box& box, const Row& row) {
  const std::size_t rank = box.begin.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (box.begin[axis] >= box.end[axis]) return;
  }
  std::vector<std::uint64_t> at = box.begin;
  while (true) {
    row(at);
    std::size_t axis = rank == 0 ? 0 : rank - 1;
    while (axis > 0) {
      --axis;
      if (++at[axis] < box.end[axis]) break;
      at[axis] = box.begin[axis];
      if (axis == 0) return;
    }
    if (rank < 2) return;
  }
}

// Number, in C order of `box`, of the element at `position`.
std::uint64_t number_in(const Box& box, std::span<const std::uint64_t> position) {
  std::uint64_t number = 0;
  for (std::size_t axis = 0; axis < position.size(); ++axis) {
    number = number * (box.end[axis] - box.begin[axis]) + (position[axis] - box.begin[axis]);
  }
  return number;
}

}  // namespace

std::vector<std::uint64_t> Box::shape() const {
  std::vector<std::uint64_t> shape;
  for (std::size_t axis = 0; axis < begin.size(); ++axis) shape.push_back(end[axis] - begin[axis]);
  return shape;
}

std::optional<std::uint64_t> Box::count() const { return checked_product(shape()); }

RegionReader::RegionReader(ArrayReader& reader)
    : reader_(reader),
      grid_(chunk_grid(reader)),
      counts_(grid_.counts()),
      element_size_(widened(reader.metadata().type).size) {}

void RegionReader::add_touched(const Box& box, std::uint64_t most,
                               std::vector<std::uint64_t>& numbers) const {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> last;
  for (std::size_t axis = 0; axis < box.begin.size(); ++axis) {
    if (box.begin[axis] >= box.end[axis]) return;
    first.push_back(grid_.axes[axis].find(box.begin[axis]));
    last.push_back(grid_.axes[axis].find(box.end[axis] - 1));
  }
  std::vector<std::uint64_t> chunk = first;
  while (numbers.size() <= most) {
    numbers.push_back(linear_of(chunk, counts_));
    std::size_t axis = chunk.size();
    while (axis > 0 && chunk[axis - 1] == last[axis - 1]) {
      --axis;
      chunk[axis] = first[axis];
    }
    if (axis == 0) return;
    ++chunk[axis - 1];
  }
}

std::uint64_t RegionReader::largest_chunk() const {
  std::uint64_t elements = 1;
  for (const AxisGrid& axis : grid_.axes) {
    std::uint64_t longest = 1;
    for (const EdgeRun& run : axis.runs()) longest = std::max(longest, run.size);
    elements = checked_multiply(elements, longest).value_or(~std::uint64_t{0});
  }
  return elements;
}

Box RegionReader::box_of(std::span<const std::uint64_t> chunk) const {
  Box box;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    const AxisGrid& edges = grid_.axes[axis];
    const std::uint64_t begin = edges.begin(chunk[axis]);
    box.begin.push_back(begin);
    box.end.push_back(begin + std::min(edges.edge(chunk[axis]), edges.extent() - begin));
  }
  return box;
}

Result<void> RegionReader::for_each_chunk(
    const Box& box, const std::function<Result<bool>(const ChunkPart&)>& visit) const {
  Box chunks;
  for (std::size_t axis = 0; axis < box.begin.size(); ++axis) {
    if (box.begin[axis] >= box.end[axis]) return {};
    chunks.begin.push_back(grid_.axes[axis].find(box.begin[axis]));
    chunks.end.push_back(grid_.axes[axis].find(box.end[axis] - 1) + 1);
  }
  const auto counts = chunks.shape();
  const std::uint64_t count = checked_product(counts).value_or(0);
  for (std::uint64_t i = 0; i < count; ++i) {
    ZARRFS_CHECK(check_wanted());
    ChunkPart part{.chunk = coordinates_of(i, counts), .whole = {}, .part = {}};
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
      part.chunk[axis] += chunks.begin[axis];
      const AxisGrid& edges = grid_.axes[axis];
      const std::uint64_t begin = edges.begin(part.chunk[axis]);
      part.whole.begin.push_back(begin);
      part.whole.end.push_back(begin + edges.edge(part.chunk[axis]));
      part.part.begin.push_back(std::max(begin, box.begin[axis]));
      part.part.end.push_back(std::min(part.whole.end[axis], box.end[axis]));
    }
    ZARRFS_TRY(const bool go_on, visit(part));
    if (!go_on) return {};
  }
  return {};
}

Result<bool> RegionReader::missing(const Box& box) const {
  bool all_missing = true;
  ZARRFS_CHECK(for_each_chunk(box, [&](const ChunkPart& part) -> Result<bool> {
    ZARRFS_TRY(const auto found, reader_.find_chunk(part.chunk));
    all_missing = !found;
    return all_missing;
  }));
  return all_missing;
}

Result<Values> RegionReader::read(const Box& box) const {
  const auto count = box.count();
  const auto bytes = count ? checked_multiply(*count, std::max(element_size_, 1U)) : std::nullopt;
  if (!bytes || *bytes > (std::uint64_t{1} << 36U)) {
    return fail(Fault::kNoMemory, reader_.path() + ": its chunks are too large to be compared");
  }
  Values out;
  if (element_size_ == 0) {
    out.items.resize(*count);
  } else {
    out.fixed.resize(*bytes);
  }
  ZARRFS_CHECK(for_each_chunk(box, [&](const ChunkPart& part) -> Result<bool> {
    ZARRFS_CHECK(copy_part(part, box, out));
    return true;
  }));
  return out;
}

Result<void> RegionReader::copy_part(const ChunkPart& part, const Box& box, Values& out) const {
  ZARRFS_TRY(Bytes elements, reader_.read_elements(part.chunk));
  const std::uint64_t expected = part.whole.count().value_or(0);
  const auto wrong_size = [&] {
    return fail(Fault::kDamaged, reader_.path() + ": a chunk decodes to another size than it has");
  };
  const std::size_t rank = box.begin.size();
  const std::uint64_t run = rank == 0 ? 1 : part.part.end[rank - 1] - part.part.begin[rank - 1];
  if (element_size_ == 0) {
    ZARRFS_TRY(std::vector<std::string> items, items_of(elements));
    if (items.size() != expected) return wrong_size();
    for_each_row(part.part, [&](const std::vector<std::uint64_t>& at) {
      const auto from = items.begin() + static_cast<std::ptrdiff_t>(number_in(part.whole, at));
      std::copy_n(std::make_move_iterator(from), run,
                  out.items.begin() + static_cast<std::ptrdiff_t>(number_in(box, at)));
    });
    return {};
  }
  if (*widened(reader_.metadata().type).spelled != *reader_.metadata().type.spelled) {
    elements = widen(reader_.metadata().type, elements);
  }
  if (elements.size() != expected * element_size_) return wrong_size();
  for_each_row(part.part, [&](const std::vector<std::uint64_t>& at) {
    std::copy_n(
        elements.begin() + static_cast<std::ptrdiff_t>(number_in(part.whole, at) * element_size_),
        run * element_size_,
        out.fixed.begin() + static_cast<std::ptrdiff_t>(number_in(box, at) * element_size_));
  });
  return {};
}

}  // namespace zarrfs::tools
