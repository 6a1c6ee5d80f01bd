#include "core/metadata/grid.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/metadata/json_fields.h"

namespace zarrfs {
namespace {

/// One item of an axis' list of edges: an edge, or [size, count].
Result<EdgeRun> parse_run(const Json& item, const std::string& field) {
  EdgeRun run;
  if (item.is_array()) {
    if (item.size() != 2) {
      return fail(Fault::kDamaged, field + " is " + brief(item) + ", not [size, count]");
    }
    ZARRFS_TRY(run.size, parse_size(item[0], field + "[0]"));
    ZARRFS_TRY(run.count, parse_size(item[1], field + "[1]"));
  } else {
    ZARRFS_TRY(run.size, parse_size(item, field));
  }
  if (run.size == 0 || run.count == 0) {
    return fail(Fault::kDamaged,
                field + " is " + brief(item) + ": edges and counts are at least 1");
  }
  return run;
}

/// Whether runs reach `extent`; a sum that does not fit 64 bits does.
bool reaches(const std::vector<EdgeRun>& runs, std::uint64_t extent) {
  std::uint64_t sum = 0;
  for (const EdgeRun& run : runs) {
    const auto length = checked_multiply(run.size, run.count);
    const auto next = length ? checked_add(sum, *length) : std::nullopt;
    if (!next || *next >= extent) return true;
    sum = *next;
  }
  return sum >= extent;
}

/// An axis as a list of edges and runs.
Result<AxisGrid> parse_edges(const Json& list, std::uint64_t extent, const std::string& field) {
  if (list.empty()) return fail(Fault::kDamaged, field + " is an empty list of edges");
  std::vector<EdgeRun> runs;
  for (const Json& item : list) {
    ZARRFS_TRY(const EdgeRun run, parse_run(item, field + "[" + std::to_string(runs.size()) + "]"));
    runs.push_back(run);
  }
  if (!reaches(runs, extent)) {
    return fail(Fault::kDamaged,
                field + ": the edges end before the axis, " + std::to_string(extent));
  }
  return AxisGrid::of_runs(extent, std::move(runs));
}

Result<void> check_rank(const Json& shapes, std::size_t rank, const std::string& field) {
  if (!shapes.is_array()) {
    return fail(Fault::kDamaged, field + " is " + brief(shapes) + ", not a list");
  }
  if (shapes.size() != rank) {
    return fail(Fault::kDamaged, field + " has " + std::to_string(shapes.size()) +
                                     " axes, but the shape has " + std::to_string(rank));
  }
  return {};
}

/// `regular`. zarr-python 3.2 wrote rectilinear grids under this name, with lists among the sizes.
Result<Grid> parse_regular(const Json& configuration, std::span<const std::uint64_t> shape) {
  const std::string field = "chunk_grid.configuration.chunk_shape";
  const Json* sizes = find_member(configuration, "chunk_shape");
  if (sizes == nullptr) return fail(Fault::kDamaged, field + " is missing");
  ZARRFS_CHECK(check_rank(*sizes, shape.size(), field));
  Grid grid;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Json& spelled = (*sizes)[axis];
    const std::string name = field + "[" + std::to_string(axis) + "]";
    if (spelled.is_array()) {
      ZARRFS_TRY(AxisGrid edges, parse_edges(spelled, shape[axis], name));
      grid.axes.push_back(std::move(edges));
      continue;
    }
    ZARRFS_TRY(const std::uint64_t edge, parse_size(spelled, name));
    // Writers store 0 for the chunk size of an axis without elements.
    grid.axes.push_back(AxisGrid::regular(shape[axis], std::max<std::uint64_t>(edge, 1)));
  }
  return grid;
}

Result<Grid> parse_rectilinear(const Json& configuration, std::span<const std::uint64_t> shape) {
  const Json* kind = find_member(configuration, "kind");
  if (kind == nullptr || !kind->is_string()) {
    return fail(Fault::kDamaged, "chunk_grid.configuration.kind of a rectilinear grid is missing");
  }
  if (kind->get_ref<const std::string&>() != "inline") {
    return fail(Fault::kUnsupported,
                "chunk_grid.configuration.kind is " + brief(*kind) + "; zarrfs knows \"inline\"");
  }
  const std::string field = "chunk_grid.configuration.chunk_shapes";
  const Json* shapes = find_member(configuration, "chunk_shapes");
  if (shapes == nullptr) return fail(Fault::kDamaged, field + " is missing");
  ZARRFS_CHECK(check_rank(*shapes, shape.size(), field));
  Grid grid;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Json& spelled = (*shapes)[axis];
    const std::string name = field + "[" + std::to_string(axis) + "]";
    if (spelled.is_array()) {
      ZARRFS_TRY(AxisGrid edges, parse_edges(spelled, shape[axis], name));
      grid.axes.push_back(std::move(edges));
      continue;
    }
    ZARRFS_TRY(const EdgeRun run, parse_run(spelled, name));
    grid.axes.push_back(AxisGrid::regular(shape[axis], run.size));
  }
  return grid;
}

}  // namespace

AxisGrid AxisGrid::regular(std::uint64_t extent, std::uint64_t edge) {
  const std::uint64_t cells = divide_up(extent, edge);
  return of_runs(extent, {EdgeRun{edge, std::max<std::uint64_t>(cells, 1)}});
}

AxisGrid AxisGrid::of_runs(std::uint64_t extent, std::vector<EdgeRun> runs) {
  AxisGrid axis;
  axis.extent_ = extent;
  axis.runs_ = std::move(runs);
  std::uint64_t begin = 0;
  for (const EdgeRun& run : axis.runs_) {
    if (begin >= extent) break;
    axis.run_begin_.push_back(begin);
    axis.run_first_index_.push_back(axis.count_);
    const std::uint64_t needed = divide_up(extent - begin, run.size);
    axis.count_ += std::min(needed, run.count);
    if (needed <= run.count) break;
    begin += run.size * run.count;  // less than the extent, as more than `count` edges are needed
  }
  return axis;
}

std::uint64_t AxisGrid::begin(std::uint64_t index) const {
  const auto after = std::upper_bound(run_first_index_.begin(), run_first_index_.end(), index);
  const auto run = static_cast<std::size_t>(after - run_first_index_.begin()) - 1;
  return run_begin_[run] + (index - run_first_index_[run]) * runs_[run].size;
}

std::uint64_t AxisGrid::edge(std::uint64_t index) const {
  const auto after = std::upper_bound(run_first_index_.begin(), run_first_index_.end(), index);
  return runs_[static_cast<std::size_t>(after - run_first_index_.begin()) - 1].size;
}

std::uint64_t AxisGrid::find(std::uint64_t position) const {
  const auto after = std::upper_bound(run_begin_.begin(), run_begin_.end(), position);
  const auto run = static_cast<std::size_t>(after - run_begin_.begin()) - 1;
  return run_first_index_[run] + (position - run_begin_[run]) / runs_[run].size;
}

std::optional<std::uint64_t> AxisGrid::regular_edge() const {
  if (runs_.empty()) return std::nullopt;
  for (std::size_t run = 1; run < run_begin_.size(); ++run) {
    if (runs_[run].size != runs_[0].size) return std::nullopt;
  }
  return runs_[0].size;
}

std::uint64_t AxisGrid::largest_edge() const {
  std::uint64_t largest = runs_.empty() ? 1 : runs_[0].size;
  for (std::size_t run = 0; run < run_begin_.size(); ++run) {
    largest = std::max(largest, runs_[run].size);
  }
  return largest;
}

bool AxisGrid::divisible_by(std::uint64_t inner) const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [&](const EdgeRun& run) { return run.size % inner == 0; });
}

bool Grid::regular() const {
  return std::all_of(axes.begin(), axes.end(),
                     [](const AxisGrid& axis) { return axis.regular_edge().has_value(); });
}

std::optional<std::uint64_t> Grid::count() const { return cell_count(counts()); }

std::vector<std::uint64_t> Grid::counts() const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(axes.size());
  for (const AxisGrid& axis : axes) numbers.push_back(axis.count());
  return numbers;
}

Result<Grid> parse_grid(const Json& chunk_grid, std::span<const std::uint64_t> shape) {
  ZARRFS_TRY(const Extension extension, parse_extension(chunk_grid, "chunk_grid"));
  if (extension.name == "regular") return parse_regular(extension.configuration, shape);
  if (extension.name == "rectilinear") return parse_rectilinear(extension.configuration, shape);
  return fail(Fault::kUnsupported, "the chunk grid \"" + printable(extension.name) +
                                       "\" is not one that zarrfs knows (regular, rectilinear)");
}

std::optional<std::uint64_t> cell_count(std::span<const std::uint64_t> counts) {
  if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return 0;
  return checked_product(counts);
}

std::vector<std::uint64_t> coordinates_of(std::uint64_t linear,
                                          std::span<const std::uint64_t> counts) {
  std::vector<std::uint64_t> coordinates(counts.size());
  for (std::size_t axis = counts.size(); axis-- > 0;) {
    coordinates[axis] = linear % counts[axis];
    linear /= counts[axis];
  }
  return coordinates;
}

std::uint64_t linear_of(std::span<const std::uint64_t> coordinates,
                        std::span<const std::uint64_t> counts) {
  std::uint64_t linear = 0;
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    linear = linear * counts[axis] + coordinates[axis];
  }
  return linear;
}

}  // namespace zarrfs
