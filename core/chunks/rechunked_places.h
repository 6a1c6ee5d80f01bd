// Which chunks of another grid than the stored one are there, learnt from each shard's index once:
// a listing asks for millions of them. Never waits for a program; one thread at a time.
#pragma once

#include <map>
#include <vector>

#include "core/chunks/array_view.h"

namespace zarrfs {

class RechunkedPlaces {
 public:
  explicit RechunkedPlaces(const ArrayView& array) : array_(array) {}

  /// Whether a stored chunk lies below the shown `chunk`, or that cannot be told because its shard
  /// cannot be read.
  Result<bool> holds(const Coordinates& chunk);

 private:
  /// The shown chunks that overlap one cell.
  struct Cell {
    std::vector<ArrayView::Span> box;
    bool counted = false;     ///< Whether it is small enough for `there`.
    std::vector<bool> there;  ///< In C order of the box; all of them where it is empty.
    [[nodiscard]] std::uint64_t number_of(const Coordinates& chunk) const;
  };
  Result<const Cell*> cell_at(const Coordinates& cell);
  Result<Cell> read(const Coordinates& cell) const;
  void mark(Cell& cell, const Coordinates& stored) const;

  const ArrayView& array_;
  std::map<Coordinates, Cell> cells_;
};

}  // namespace zarrfs
