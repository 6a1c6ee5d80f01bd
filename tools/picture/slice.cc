#include "tools/picture/slice.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/printable.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {
namespace {

constexpr std::uint64_t kThinnest = 8;  // pixels that the short side keeps

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    std::erase(part, ' ');
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

tl::unexpected<Error> wrong(const std::string& part, std::size_t axis, std::uint64_t extent) {
  return fail(Fault::kInvalid, "--slice: \"" + printable(part) + "\" does not fit axis " +
                                   std::to_string(axis) + ", which has " + std::to_string(extent) +
                                   " elements");
}

// A position from the begin or, where negative, from the end; nothing where it is not in 0 to
// `most`.
std::optional<std::uint64_t> position(std::string_view text, std::uint64_t extent,
                                      std::uint64_t most) {
  const bool from_end = text.starts_with('-');
  if (from_end) text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  if (from_end) {
    if (number > extent) return std::nullopt;
    number = extent - number;
  }
  return number <= most ? std::optional(number) : std::nullopt;
}

Result<AxisSlice> parse_axis(const std::string& part, std::size_t axis, std::uint64_t extent) {
  const std::size_t colon = part.find(':');
  if (colon == std::string::npos) {
    const auto at = extent == 0 ? std::nullopt : position(part, extent, extent - 1);
    if (!at) return wrong(part, axis, extent);
    return AxisSlice{*at, *at + 1, true};
  }
  const std::string from = part.substr(0, colon);
  const std::string to = part.substr(colon + 1);
  const auto begin =
      from.empty() ? std::optional<std::uint64_t>(0) : position(from, extent, extent);
  const auto end = to.empty() ? std::optional(extent) : position(to, extent, extent);
  if (!begin || !end || *begin > *end) return wrong(part, axis, extent);
  return AxisSlice{*begin, *end, false};
}

std::string range_text(const PlaneAxis& axis) {
  return std::to_string(axis.begin) + ":" + std::to_string(axis.end);
}

// The pixels of one direction whose elements lie in one chunk: [first, last].
struct PixelRun {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::vector<PixelRun> runs_of(const PlaneAxis& direction, const Grid& grid) {
  if (!direction.axis) return {{0, 0}};
  std::vector<PixelRun> runs;
  std::uint64_t chunk = 0;
  for (std::uint64_t pixel = 0; pixel < direction.pixels; ++pixel) {
    const std::uint64_t now = grid.axes[*direction.axis].find(direction.element_of(pixel));
    if (runs.empty() || now != chunk) runs.push_back({pixel, pixel});
    runs.back().last = pixel;
    chunk = now;
  }
  return runs;
}

void set_range(Box& box, const PlaneAxis& direction, const PixelRun& run) {
  if (!direction.axis) return;
  box.begin[*direction.axis] = direction.element_of(run.first);
  box.end[*direction.axis] = direction.element_of(run.last) + 1;
}

// Reads one plane, chunk by chunk.
class PlaneReader {
 public:
  PlaneReader(const RegionReader& region, const Plane& plane, ElementGauge& gauge,
              const std::function<void(const Error&)>& on_damage)
      : region_(region),
        plane_(plane),
        gauge_(gauge),
        on_damage_(on_damage),
        size_(widened(region.reader().metadata().type).size) {}

  Result<PlaneValues> run() {
    const std::uint64_t count = plane_.down.pixels * plane_.right.pixels;
    out_.values.assign(count, 0);
    out_.kinds.assign(count, PlaneValues::Kind::kNone);
    const auto columns = runs_of(plane_.right, region_.grid());
    for (const PixelRun& down : runs_of(plane_.down, region_.grid())) {
      for (const PixelRun& right : columns) {
        if (interrupted()) return fail(interruption());
        ZARRFS_CHECK(read_chunk(down, right));
      }
    }
    gauge_.finish();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (out_.kinds[i] == PlaneValues::Kind::kValue) {
        out_.values[i] = gauge_.place_of(out_.values[i]);
      }
    }
    return std::move(out_);
  }

 private:
  Result<void> read_chunk(const PixelRun& down, const PixelRun& right) {
    Box box{.begin = plane_.at, .end = plane_.at};
    for (std::uint64_t& end : box.end) ++end;
    set_range(box, plane_.down, down);
    set_range(box, plane_.right, right);
    ++out_.chunks;
    const auto missing = region_.missing(box);
    const auto values = missing ? region_.read(box) : fail(missing.error());
    if (!values) {
      if (values.error().fault != Fault::kDamaged) return fail(values.error());
      ++out_.damaged;
      on_damage_(values.error());
    } else if (*missing) {
      ++out_.missing;
    }
    const std::uint64_t width = box.end.empty() || !plane_.right.axis
                                    ? 1
                                    : box.end[*plane_.right.axis] - box.begin[*plane_.right.axis];
    const std::uint64_t height =
        !plane_.down.axis ? 1 : box.end[*plane_.down.axis] - box.begin[*plane_.down.axis];
    const bool transposed =
        plane_.down.axis && plane_.right.axis && *plane_.down.axis > *plane_.right.axis;
    for (std::uint64_t row = down.first; row <= down.last; ++row) {
      const std::uint64_t y = plane_.down.element_of(row) - plane_.down.element_of(down.first);
      for (std::uint64_t column = right.first; column <= right.last; ++column) {
        const std::uint64_t x =
            plane_.right.element_of(column) - plane_.right.element_of(right.first);
        const std::uint64_t pixel = row * plane_.right.pixels + column;
        if (!values) {
          out_.kinds[pixel] = PlaneValues::Kind::kDamaged;
        } else {
          set_pixel(pixel, *values, transposed ? x * height + y : y * width + x);
        }
      }
    }
    return {};
  }

  void set_pixel(std::uint64_t pixel, const Values& values, std::uint64_t index) {
    ByteView element;
    if (size_ == 0) {
      const std::string& item = values.items[index];
      element = {reinterpret_cast<const std::uint8_t*>(item.data()), item.size()};
    } else {
      element = ByteView(values.fixed).subspan(index * size_, size_);
    }
    const auto number = gauge_.take(element);
    if (!number) return;
    out_.values[pixel] = *number;
    out_.kinds[pixel] = PlaneValues::Kind::kValue;
  }

  const RegionReader& region_;
  const Plane& plane_;
  ElementGauge& gauge_;
  const std::function<void(const Error&)>& on_damage_;
  std::uint32_t size_;
  PlaneValues out_;
};

}  // namespace

Result<std::vector<AxisSlice>> parse_slice(const std::string& text,
                                           std::span<const std::uint64_t> shape) {
  std::vector<std::string> parts;
  if (!text.empty()) parts = split(text);
  const auto dots = std::find(parts.begin(), parts.end(), "...");
  const bool has_dots = dots != parts.end();
  const std::size_t given = parts.size() - (has_dots ? 1 : 0);
  if (given > shape.size()) {
    return fail(Fault::kInvalid, "--slice " + printable(text) + ": the array has " +
                                     std::to_string(shape.size()) + " axes");
  }
  const std::size_t missing = shape.size() - given;
  if (has_dots) {
    parts.insert(parts.erase(dots), missing, ":");
  } else {
    parts.insert(parts.end(), missing, ":");
  }
  std::vector<AxisSlice> slices;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    ZARRFS_TRY(const AxisSlice slice, parse_axis(parts[axis], axis, shape[axis]));
    slices.push_back(slice);
  }
  return slices;
}

std::uint64_t PlaneAxis::element_of(std::uint64_t pixel) const {
  const double place = (static_cast<double>(pixel) + 0.5) * static_cast<double>(extent()) /
                       static_cast<double>(pixels);
  return begin + std::min(static_cast<std::uint64_t>(place), extent() - 1);
}

std::string Plane::text() const {
  std::string text;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    if (axis > 0) text += ", ";
    if (down.axis == axis) {
      text += range_text(down);
    } else if (right.axis == axis) {
      text += range_text(right);
    } else {
      text += std::to_string(at[axis]);
    }
  }
  return "[" + text + "]";
}

Result<Plane> choose_plane(const std::vector<AxisSlice>& slices,
                           const std::vector<std::uint64_t>& axes) {
  std::vector<std::size_t> drawn;
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    if (!slices[axis].single) drawn.push_back(axis);
  }
  if (drawn.size() > 2) drawn.erase(drawn.begin(), drawn.end() - 2);
  if (!axes.empty()) {
    drawn.assign(axes.begin(), axes.end());
    for (const std::size_t axis : drawn) {
      if (axis < slices.size() && !slices[axis].single) continue;
      return fail(Fault::kInvalid, "--axes " + std::to_string(axis) +
                                       ": the slice has no range on " +
                                       "such an axis; axes are counted from 0");
    }
    if (drawn.size() == 2 && drawn[0] == drawn[1]) {
      return fail(Fault::kInvalid, "--axes names one axis twice");
    }
  }
  Plane plane;
  for (const AxisSlice& slice : slices) {
    plane.at.push_back(slice.single ? slice.begin : slice.begin + (slice.end - slice.begin) / 2);
  }
  const auto draw_along = [&](PlaneAxis& direction, std::size_t axis) {
    direction.axis = axis;
    direction.begin = slices[axis].begin;
    direction.end = slices[axis].end;
    plane.at[axis] = 0;
  };
  if (!drawn.empty()) draw_along(plane.right, drawn.back());
  if (drawn.size() == 2) draw_along(plane.down, drawn.front());
  return plane;
}

void fit(Plane& plane, std::uint64_t most_rows, std::uint64_t most_columns, std::uint64_t enlarge) {
  const auto rows = static_cast<double>(std::max<std::uint64_t>(plane.down.extent(), 1));
  const auto columns = static_cast<double>(std::max<std::uint64_t>(plane.right.extent(), 1));
  const double scale =
      std::min({static_cast<double>(most_rows) / rows, static_cast<double>(most_columns) / columns,
                static_cast<double>(enlarge)});
  const auto pixels = [&](const PlaneAxis& direction, double extent, std::uint64_t most) {
    const auto scaled = static_cast<std::uint64_t>(std::lround(extent * scale));
    const std::uint64_t least = std::min({direction.extent(), kThinnest, most});
    return std::clamp<std::uint64_t>(scaled, std::max<std::uint64_t>(least, 1), most);
  };
  if (plane.down.axis) plane.down.pixels = pixels(plane.down, rows, most_rows);
  if (plane.right.axis) plane.right.pixels = pixels(plane.right, columns, most_columns);
}

Result<PlaneValues> read_plane(const RegionReader& region, const Plane& plane, ElementGauge& gauge,
                               const std::function<void(const Error&)>& on_damage) {
  return PlaneReader(region, plane, gauge, on_damage).run();
}

std::vector<Colour> plane_colours(const PlaneValues& values, double low, double high,
                                  const std::function<Colour(double)>& colour_of) {
  std::vector<Colour> colours;
  colours.reserve(values.values.size());
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    switch (values.kinds[i]) {
      case PlaneValues::Kind::kDamaged: colours.push_back(kDamageColour); break;
      case PlaneValues::Kind::kNone: colours.push_back(kMissingColour); break;
      case PlaneValues::Kind::kValue:
        // Halves: the difference of the largest numbers is beyond a double.
        colours.push_back(
            colour_of(high > low ? (values.values[i] / 2 - low / 2) / (high / 2 - low / 2) : 0.5));
        break;
    }
  }
  return colours;
}

}  // namespace zarrfs::tools
