// Which elements of an array a picture shows, and their values. Planning is pure; one thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tools/picture/element_gauge.h"
#include "tools/picture/terminal.h"
#include "tools/shared/region.h"

namespace zarrfs::tools {

/// Elements [begin, end) along one axis.
struct AxisSlice {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool single = false;  ///< One element was named: the axis is not drawn.
  bool operator==(const AxisSlice&) const = default;
};

/// One for each axis of `shape`, of "12,:,0:48" as numpy writes it: an element, a range or ":" for
/// each axis; what is negative counts from the end; "..." or an end too early stand for ":".
/// kInvalid, naming the axis, where it does not fit.
Result<std::vector<AxisSlice>> parse_slice(const std::string& text,
                                           std::span<const std::uint64_t> shape);

/// One direction of a picture: `pixels` along elements [begin, end) of an axis.
struct PlaneAxis {
  std::optional<std::size_t> axis;  ///< None: the picture has one row or column only.
  std::uint64_t begin = 0;
  std::uint64_t end = 1;
  std::uint64_t pixels = 1;
  [[nodiscard]] std::uint64_t extent() const { return end - begin; }
  /// The element that pixel `pixel` shows: the one in the middle of those it stands for.
  [[nodiscard]] std::uint64_t element_of(std::uint64_t pixel) const;
};

/// A plane of an array. On all other axes one element.
struct Plane {
  PlaneAxis down;
  PlaneAxis right;
  std::vector<std::uint64_t> at;  ///< The element on each axis; 0 on those drawn.
  /// "[0, 12, 0:48, 0:48]"
  [[nodiscard]] std::string text() const;
};

/// The plane of `slices` along the last two axes that are not single, or along `axes` (downwards,
/// to the right); the others are cut in the middle. kInvalid where `axes` do not fit.
Result<Plane> choose_plane(const std::vector<AxisSlice>& slices,
                           const std::vector<std::uint64_t>& axes);

/// Gives `plane` at most `most_rows` and `most_columns` pixels, elements squares if that leaves
/// both sides visible, and `enlarge` pixels for an element at most.
void fit(Plane& plane, std::uint64_t most_rows, std::uint64_t most_columns, std::uint64_t enlarge);

/// The values of a plane, a pixel each, row after row.
struct PlaneValues {
  enum class Kind : std::uint8_t { kValue, kNone, kDamaged };
  std::vector<double> values;
  std::vector<Kind> kinds;
  std::uint64_t chunks = 0;   ///< That were looked at.
  std::uint64_t missing = 0;  ///< Of these: they hold the fill value.
  std::uint64_t damaged = 0;
};

/// Reads what `plane` shows; each chunk that one of its elements lies in is decoded once.
/// `on_damage` hears of chunks that cannot be decoded; other errors end it.
Result<PlaneValues> read_plane(const RegionReader& region, const Plane& plane, ElementGauge& gauge,
                               const std::function<void(const Error&)>& on_damage);

/// The colour of each pixel: what `colour_of` gives for 0 (`low` and less) to 1 (`high` and more).
std::vector<Colour> plane_colours(const PlaneValues& values, double low, double high,
                                  const std::function<Colour(double)>& colour_of);

}  // namespace zarrfs::tools
