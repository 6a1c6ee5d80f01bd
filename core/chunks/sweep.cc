#include "core/chunks/sweep.h"

#include <algorithm>
#include <limits>

#include "core/base/bytes.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kOutOfOrder = 64;  // chunks that come before others of several threads
constexpr std::uint64_t kMost = 8;         // of so many parts of a box all but one

/// The first axis along which they differ; the number of axes where there is none.
std::size_t first_difference(const ChunkBox& one, const ChunkBox& other) {
  std::size_t axis = 0;
  while (axis < one.first.size() && one.first[axis] == other.first[axis] &&
         one.last[axis] == other.last[axis]) {
    ++axis;
  }
  return axis;
}

}  // namespace

bool ChunkBox::has(const Coordinates& chunk) const {
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    if (chunk[axis] < first[axis] || chunk[axis] > last[axis]) return false;
  }
  return true;
}

std::uint64_t ChunkBox::chunks() const {
  std::uint64_t product = 1;
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    const auto more = checked_multiply(product, last[axis] - first[axis] + 1);
    if (!more) return std::numeric_limits<std::uint64_t>::max();
    product = *more;
  }
  return product;
}

bool ChunkBox::step(Coordinates& chunk) const {
  for (std::size_t axis = chunk.size(); axis-- > 0;) {
    if (chunk[axis] < last[axis]) {
      ++chunk[axis];
      return true;
    }
    chunk[axis] = first[axis];
  }
  return false;
}

bool Sweep::met(const Coordinates& chunk, const Coordinates& counts) {
  const bool same_grid = seen_.first.size() == chunk.size() && counts.size() == chunk.size();
  ChunkBox grown = same_grid ? seen_ : ChunkBox{chunk, chunk};
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    grown.first[axis] = std::min(grown.first[axis], chunk[axis]);
    grown.last[axis] = std::max(grown.last[axis], chunk[axis]);
  }
  const std::size_t moved = axis();
  const std::size_t grows = same_grid ? first_difference(grown, seen_) : 0;
  // What is as good as complete is not made wider, but followed by another box.
  const bool next_box =
      grows > moved && grows < chunk.size() && met_ * kMost >= seen_.chunks() * (kMost - 1);
  if (!same_grid || next_box || grown.chunks() > 2 * (met_ + 1) + kOutOfOrder) {
    seen_ = {chunk, chunk};
    met_ = 1;
    complete_ = false;
    return false;
  }
  if (grows <= moved && grows < chunk.size()) complete_ = met_ * 4 >= seen_.chunks() * 3;
  seen_ = std::move(grown);
  ++met_;
  return true;
}

std::size_t Sweep::axis() const {
  std::size_t axis = 0;
  while (axis < seen_.first.size() && seen_.first[axis] == seen_.last[axis]) ++axis;
  return axis;
}

std::optional<ChunkBox> Sweep::ahead(const Coordinates& counts) const {
  const std::size_t moved = axis();
  if (!complete_ || moved >= counts.size() || seen_.chunks() > 2 * met_) return std::nullopt;
  ChunkBox box = seen_;
  box.last[moved] = std::max(box.last[moved], counts[moved] - 1);
  return box;
}

}  // namespace zarrfs
