// OME-Zarr 0.5 and 0.6 as 0.4, and back. Source: OME-NGFF 0.4, 0.5 and 0.6; spatialdata's format
// versions. What is shown of 0.6: docs/readers.md. Pure functions; thread-safe.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/present/level_names.h"

namespace zarrfs {

/// The attribute that holds what OME-Zarr 0.4 has as attributes of the group.
inline constexpr const char* kOme = "ome";

/// Attributes of a group, is_ome(), as OME-Zarr 0.4 has them, with levels called as `levels` says.
Json ome_as_04(const Json& attributes, const LevelNames& levels);

/// What to store for what a program has `written` where it was shown `shown`, ome_as_04() of
/// `stored`: inside `ome`, what comes back as it was shown as it is stored, and what was not shown
/// as it was. Not where `written` has `ome` itself.
Json ome_from_04(const Json& written, const Json& shown, const Json& stored,
                 const LevelNames& levels);

/// What OME-Zarr 0.4 cannot say of a group's attributes.
struct Ome04Lacks {
  bool images = false;  ///< Of an image it cannot say where it lies: it is left out.
  std::string text;     ///< The whole, for the report; empty where it can say everything.
};
Ome04Lacks ome04_lacks(const Json& attributes);

}  // namespace zarrfs
