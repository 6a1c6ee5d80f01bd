#include "core/zarr/grid.h"

#include <algorithm>

namespace zarrfs {
namespace {

constexpr std::uint64_t kMaxExtent = (std::uint64_t{1} << 63U) - 1;

std::string axis_name(std::size_t axis) { return "chunk_grid: axis " + std::to_string(axis); }

Result<std::uint64_t> parse_edge(const Json& value, std::size_t axis, bool zero_is_one) {
  if (!value.is_number_integer() || (value.is_number_integer() && value < 0)) {
    return fail(Fault::kDamaged, axis_name(axis) + " has the edge " + dump_json(value) +
                                     ", which is not a whole number");
  }
  const auto edge = value.get<std::uint64_t>();
  if (edge == 0 && zero_is_one) return 1;
  if (edge == 0 || edge > kMaxExtent) {
    return fail(Fault::kDamaged, axis_name(axis) + " has the edge " + dump_json(value));
  }
  return edge;
}

/// One item of a list of edges: a size, or [size, count].
Result<EdgeRun> parse_run(const Json& item, std::size_t axis) {
  if (!item.is_array()) {
    ZARRFS_TRY(const std::uint64_t edge, parse_edge(item, axis, false));
    return EdgeRun{edge, 1};
  }
  if (item.size() != 2) {
    return fail(Fault::kDamaged, axis_name(axis) + " has the run " + dump_json(item) +
                                     ", which is not [size, count]");
  }
  ZARRFS_TRY(const std::uint64_t edge, parse_edge(item[0], axis, false));
  ZARRFS_TRY(const std::uint64_t count, parse_edge(item[1], axis, false));
  return EdgeRun{edge, count};
}

Result<AxisGrid> parse_axis(const Json& edges, std::uint64_t extent, std::size_t axis) {
  if (!edges.is_array()) {
    ZARRFS_TRY(const std::uint64_t edge, parse_edge(edges, axis, true));
    return AxisGrid::regular(extent, edge);
  }
  std::vector<EdgeRun> runs;
  std::uint64_t sum = 0;
  for (const Json& item : edges) {
    ZARRFS_TRY(const EdgeRun run, parse_run(item, axis));
    const auto length = checked_multiply(run.size, run.count);
    const auto next = length ? checked_add(sum, *length) : std::nullopt;
    if (!next || *next > kMaxExtent) {
      return fail(Fault::kDamaged, axis_name(axis) + ": the edges' sum does not fit 63 bits");
    }
    sum = *next;
    if (!runs.empty() && runs.back().size == run.size) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  }
  if (sum < extent) {
    return fail(Fault::kDamaged, axis_name(axis) + ": the edges' sum, " + std::to_string(sum) +
                                     ", is less than the extent, " + std::to_string(extent));
  }
  return AxisGrid::of_runs(extent, std::move(runs));
}

Result<Grid> parse_axes(const Json& shapes, std::span<const std::uint64_t> shape) {
  if (!shapes.is_array() || shapes.size() != shape.size()) {
    return fail(Fault::kDamaged, "chunk_grid: " + dump_json(shapes) +
                                     " does not have one entry for each of the " +
                                     std::to_string(shape.size()) + " dimensions");
  }
  Grid grid;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    ZARRFS_TRY(AxisGrid parsed, parse_axis(shapes[axis], shape[axis], axis));
    grid.axes.push_back(std::move(parsed));
  }
  return grid;
}

}  // namespace

AxisGrid AxisGrid::regular(std::uint64_t extent, std::uint64_t edge) {
  AxisGrid axis;
  axis.extent_ = extent;
  axis.count_ = divide_up(extent, edge);
  axis.runs_ = {{edge, axis.count_}};
  axis.run_begin_ = {0};
  axis.run_first_index_ = {0};
  return axis;
}

AxisGrid AxisGrid::of_runs(std::uint64_t extent, std::vector<EdgeRun> runs) {
  AxisGrid axis;
  axis.extent_ = extent;
  std::uint64_t begin = 0;
  for (const EdgeRun& run : runs) {
    axis.run_begin_.push_back(begin);
    axis.run_first_index_.push_back(axis.count_);
    if (begin < extent) axis.count_ += std::min(run.count, divide_up(extent - begin, run.size));
    begin += run.size * run.count;
  }
  axis.runs_ = std::move(runs);
  return axis;
}

namespace {

/// The last position of `starts` whose value is at most `value`; starts[0] is 0.
std::size_t run_of(const std::vector<std::uint64_t>& starts, std::uint64_t value) {
  return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), value) -
                                  starts.begin()) -
         1;
}

}  // namespace

std::uint64_t AxisGrid::begin(std::uint64_t index) const {
  const std::size_t run = run_of(run_first_index_, index);
  return run_begin_[run] + (index - run_first_index_[run]) * runs_[run].size;
}

std::uint64_t AxisGrid::edge(std::uint64_t index) const {
  return runs_[run_of(run_first_index_, index)].size;
}

std::uint64_t AxisGrid::find(std::uint64_t position) const {
  const std::size_t run = run_of(run_begin_, position);
  return run_first_index_[run] + (position - run_begin_[run]) / runs_[run].size;
}

std::optional<std::uint64_t> AxisGrid::regular_edge() const {
  if (runs_.size() != 1) return std::nullopt;
  return runs_[0].size;
}

bool AxisGrid::divisible_by(std::uint64_t inner) const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [&](const EdgeRun& run) { return run.size % inner == 0; });
}

bool Grid::regular() const {
  return std::all_of(axes.begin(), axes.end(),
                     [](const AxisGrid& axis) { return axis.regular_edge().has_value(); });
}

std::optional<std::uint64_t> Grid::count() const { return checked_product(counts()); }

std::vector<std::uint64_t> Grid::counts() const {
  std::vector<std::uint64_t> counts;
  counts.reserve(axes.size());
  for (const AxisGrid& axis : axes) counts.push_back(axis.count());
  return counts;
}

Result<Grid> parse_grid(const Json& chunk_grid, std::span<const std::uint64_t> shape) {
  if (!chunk_grid.is_object() || !chunk_grid.contains("name") || !chunk_grid["name"].is_string()) {
    return fail(Fault::kDamaged, "chunk_grid: " + dump_json(chunk_grid) + " has no name");
  }
  const auto name = chunk_grid["name"].get<std::string>();
  const Json empty = Json::object();
  const Json& configuration =
      chunk_grid.contains("configuration") ? chunk_grid["configuration"] : empty;
  if (!configuration.is_object()) {
    return fail(Fault::kDamaged, "chunk_grid: the configuration is " + dump_json(configuration));
  }
  if (name == "regular") {
    if (!configuration.contains("chunk_shape"))
      return fail(Fault::kDamaged, "chunk_grid: there is no chunk_shape");
    return parse_axes(configuration["chunk_shape"], shape);
  }
  if (name == "rectilinear") {
    if (!configuration.contains("kind") || configuration["kind"] != "inline") {
      return fail(Fault::kUnsupported, "chunk_grid rectilinear of kind " +
                                           dump_json(configuration.value("kind", Json())));
    }
    if (!configuration.contains("chunk_shapes"))
      return fail(Fault::kDamaged, "chunk_grid: there are no chunk_shapes");
    return parse_axes(configuration["chunk_shapes"], shape);
  }
  return fail(Fault::kUnsupported, "chunk_grid " + printable(name));
}

std::vector<std::uint64_t> coordinates_of(std::uint64_t linear,
                                          std::span<const std::uint64_t> counts) {
  std::vector<std::uint64_t> coordinates(counts.size());
  for (std::size_t axis = counts.size(); axis > 0; --axis) {
    coordinates[axis - 1] = linear % counts[axis - 1];
    linear /= counts[axis - 1];
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
