// Attributes as Zarr v2 programs expect them: dimension names as xarray writes them, OME-Zarr 0.5
// as 0.4, and back. Source: xarray ("Zarr encoding specification"), OME-NGFF 0.4 and 0.5,
// spatialdata's format versions. Pure functions; thread-safe.
#pragma once

#include "core/base/json.h"
#include "core/view/presentation.h"
#include "core/view/profile.h"
#include "core/zarr/metadata.h"

namespace zarrfs {

/// The attribute in which xarray, GDAL and netCDF-C look for names of dimensions.
inline constexpr const char* kDimensionsAttribute = "_ARRAY_DIMENSIONS";

/// `.zattrs` of an array: its attributes, with `_ARRAY_DIMENSIONS` from dimension_names where all
/// have one. A profile that needs the attribute gets made-up names for the rest. Those carry the
/// length of the axis ("dim_0_512"), as do names that stand for several lengths in a group: xarray
/// opens no group in which one name has two lengths.
Json array_attributes(const ArrayMetadata& array, const Profile& profile,
                      const ArrayCircumstances& circumstances);

/// Attributes for a reader without nested ones (netCDF-C): lists of anything but numbers, objects
/// and null as JSON text, and numbers of several sizes as float64. `_ARRAY_DIMENSIONS` stays.
Json plain_attributes(Json attributes);

/// The inverse for what a program wrote: text that says what `old` has is `old`'s value.
Json unplain_attributes(Json written, const Json& old);

}  // namespace zarrfs
