// Attributes as Zarr v2 programs expect them: dimension names as xarray writes them, OME-Zarr as
// 0.4 (ome.h), and back. Source: xarray ("Zarr encoding specification"). Pure functions;
// thread-safe.
#pragma once

#include "core/base/json_fwd.h"
#include "core/metadata/metadata.h"
#include "core/present/dimension_names.h"
#include "core/present/presentation.h"
#include "core/present/profile.h"

namespace zarrfs {

/// `.zattrs` of an array: its attributes, with `_ARRAY_DIMENSIONS` from dimension_names where all
/// have one. A profile that needs the attribute gets made-up names for the rest. Those carry the
/// length of the axis ("dim_0_512"), as do names that stand for several lengths in a group: xarray
/// opens no group in which one name has two lengths. Where `circumstances` has names for the whole
/// store, they are taken.
Json array_attributes(const ArrayMetadata& array, const Profile& profile,
                      const ArrayCircumstances& circumstances);

/// Attributes for a reader without nested ones (netCDF-C): numbers of several sizes as float64,
/// and, unless `profile` is for others, too (as_noted), lists of anything but numbers, objects and
/// null as JSON text. `_ARRAY_DIMENSIONS` stays.
Json plain_attributes(Json attributes, const Profile& profile);

/// Whether netCDF-C 4.9.0 opens a data set with these attributes only where plain_attributes()
/// makes text of some.
bool needs_text_for_netcdf(const Json& attributes);

/// What to store for what a program has `written`, where it was shown `shown` of what is `stored`.
/// What comes back as it was shown stays as it is stored, and what was not shown and is not written
/// stays, too; in members of members and in elements of lists of the same length as well.
Json restored(const Json& stored, const Json& shown, const Json& written);

/// `.zattrs` of an array as a program wrote it -> attributes and dimension names of `document`, the
/// stored one. Names of dimensions are never removed: whether they are shown depends on other
/// arrays.
void take_array_attributes(const Json& shown, Json written, const Profile& profile, Json& document);

}  // namespace zarrfs
