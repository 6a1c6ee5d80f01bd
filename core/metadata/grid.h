// Chunk grids: where along each axis the cells of an array begin and end.
// Source: Zarr v3 core ("Chunk grids"), zarr-extensions chunk-grids/rectilinear (ZEP 3).
// Immutable values; thread-safe. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace zarrfs {

/// `count` edges of `size` elements each, one after the other.
struct EdgeRun {
  std::uint64_t size = 1;
  std::uint64_t count = 1;
  bool operator==(const EdgeRun&) const = default;
};

/// One axis of a grid: runs of edges. A regular axis is one run. Run lengths are never expanded.
class AxisGrid {
 public:
  AxisGrid() = default;
  /// A regular axis: edges of `edge` elements (at least 1) over `extent`.
  static AxisGrid regular(std::uint64_t extent, std::uint64_t edge);
  /// Runs as declared; their sum is at least `extent`.
  static AxisGrid of_runs(std::uint64_t extent, std::vector<EdgeRun> runs);

  /// Cells that hold at least one element within the extent.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t extent() const { return extent_; }
  /// First element of cell `index` (index < count()).
  [[nodiscard]] std::uint64_t begin(std::uint64_t index) const;
  /// Elements of cell `index`, as stored: an edge cell is as long as any.
  [[nodiscard]] std::uint64_t edge(std::uint64_t index) const;
  /// The cell that holds element `position` (position < extent()).
  [[nodiscard]] std::uint64_t find(std::uint64_t position) const;
  /// The one edge length of a regular axis: of all cells within the extent.
  [[nodiscard]] std::optional<std::uint64_t> regular_edge() const;
  /// The longest edge of a cell; of an axis without elements, the first edge declared.
  [[nodiscard]] std::uint64_t largest_edge() const;
  /// Whether every edge declared is a multiple of `inner` (at least 1).
  [[nodiscard]] bool divisible_by(std::uint64_t inner) const;
  [[nodiscard]] const std::vector<EdgeRun>& runs() const { return runs_; }

 private:
  std::uint64_t extent_ = 0;
  std::uint64_t count_ = 0;
  std::vector<EdgeRun> runs_;
  std::vector<std::uint64_t> run_begin_;        // first element of each run
  std::vector<std::uint64_t> run_first_index_;  // first cell of each run
};

struct Grid {
  std::vector<AxisGrid> axes;
  [[nodiscard]] bool regular() const;
  /// Cells in all, or nothing where that does not fit 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
};

/// Parses `chunk_grid` of an array of `shape`. An edge of 0 in a regular grid is read as 1.
/// kDamaged: a malformed grid, or edges that end before the shape. kUnsupported: other grids.
Result<Grid> parse_grid(const Json& chunk_grid, std::span<const std::uint64_t> shape);

/// The product of `counts` (0 where one is 0), or nothing where that does not fit 64 bits.
std::optional<std::uint64_t> cell_count(std::span<const std::uint64_t> counts);

/// Coordinates of the `linear`-th cell in C order of `counts`, and back.
std::vector<std::uint64_t> coordinates_of(std::uint64_t linear,
                                          std::span<const std::uint64_t> counts);
std::uint64_t linear_of(std::span<const std::uint64_t> coordinates,
                        std::span<const std::uint64_t> counts);

}  // namespace zarrfs
