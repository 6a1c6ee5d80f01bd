#include "tools/convert/part_range.h"

#include <algorithm>
#include <numeric>

#include "core/metadata/grid.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

// Looking at a piece that is absent is cheaper than listing, up to so many.
constexpr std::uint64_t kMostVisited = std::uint64_t{1} << 20U;

// The cells of `to` that hold elements of those in `box`, cells of `from`.
CellBox box_in(const Grid& to, const Grid& from, const CellBox& box) {
  CellBox other;
  for (std::size_t axis = 0; axis < box.first.size(); ++axis) {
    const AxisGrid& edges = from.axes[axis];
    const std::uint64_t begin = edges.begin(box.first[axis]);
    const std::uint64_t last = edges.begin(box.last[axis]);
    const std::uint64_t length = std::min(edges.edge(box.last[axis]), edges.extent() - last);
    other.first.push_back(to.axes[axis].find(begin));
    other.last.push_back(to.axes[axis].find(last + length - 1));
  }
  return other;
}

}  // namespace

Result<std::vector<std::uint64_t>> pieces_within(const Source& source, const ArrayWork& work,
                                                 NumberRange range) {
  std::vector<std::uint64_t> numbers;
  if (range.count() == 0) return numbers;
  if (range.count() <= kMostVisited || makes_all_chunks(work)) {
    numbers.resize(range.count());
    std::iota(numbers.begin(), numbers.end(), range.begin);
    return numbers;
  }
  const Grid& pieces = grid_of_pieces(work);
  const Grid& objects = work.array.node.node.layout->grid();
  const CellBox box = box_in(objects, pieces, box_of(pieces.counts(), range));
  ZARRFS_TRY(auto cells,
             list_shards_within(*source.store, work.array.path, *work.array.node.node.array, box));
  numbers = pieces_of(work, std::move(cells));
  std::erase_if(numbers,
                [&](std::uint64_t number) { return number < range.begin || number >= range.end; });
  return numbers;
}

}  // namespace zarrfs::tools
