// Coordinate systems and transformations of OME-Zarr 0.6 (RFC 5) as OME-Zarr 0.4 can say them: the
// axes of the system that the levels are placed in, and for each level a scale and a translation.
// Source: OME-NGFF 0.6 ("coordinateSystems", "coordinateTransformations", "multiscales"), also as
// its drafts 0.6.dev1 to 0.6rc0 spell it; OME-NGFF 0.4. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace zarrfs {

inline constexpr const char* kAxes = "axes";
inline constexpr const char* kDatasets = "datasets";
inline constexpr const char* kTransformations = "coordinateTransformations";
inline constexpr const char* kCoordinateSystems = "coordinateSystems";

/// The transformations of 0.4, a scale and then perhaps a translation, that do the same as the
/// `transformations`, one after the other, to points of so many axes. Numbers that need no
/// arithmetic stay as they are spelled. kUnsupported where there are none: the message tells which
/// transformation it is.
Result<Json> scale_and_translation(const Json& transformations, std::size_t axes);

/// A multiscale that has coordinate systems, as 0.4 says it.
struct PlacedLevels {
  struct Level {
    /// Which of the level's transformations leads to the intrinsic system; nothing where all of
    /// them do, one after the other, as none names its output.
    std::optional<std::size_t> used;
    Json transformations;  ///< As 0.4 has them.
  };
  /// Which of the coordinate systems is the intrinsic one: the one that the outputs of all levels
  /// name. Nothing where `axes` of the multiscale itself are.
  std::optional<std::size_t> system;
  Json axes;                  ///< Of the intrinsic system.
  std::vector<Level> levels;  ///< One for each of `datasets`.
  /// What 0.4 has no words for, the first of it: `the rotation to "tilted"`.
  std::vector<std::string> left_out;
  std::size_t more_left_out = 0;  ///< How many transformations more.
};

/// kUnsupported, with the level or member, where 0.4 cannot say where the levels lie.
Result<PlacedLevels> place_levels(const Json& multiscale);

/// `transformations` of 0.4 as one of 0.6, with `input`, `output` and the name of `place`.
Json as_one_transformation(const Json& transformations, const Json& place);

}  // namespace zarrfs
