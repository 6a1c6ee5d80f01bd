// What marks missing cells. Zarr v2 programs that follow CF (xarray, GDAL) mark them by
// `fill_value` of `.zarray`; in Zarr v3 the attribute `_FillValue` does, and `fill_value` only
// tells what absent chunks hold. Source: xarray ("Zarr encoding specification", FillValueCoder), CF
// conventions, OME-NGFF 0.4 and 0.5. docs/semantics.md has the rule. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/metadata/metadata.h"

namespace zarrfs {

/// Whether every axis has a name (of a scalar: that its document has the list of names). Programs
/// that name the axes of arrays take their fill value for missing data; see also image_levels().
bool has_dimension_names(const ArrayMetadata& array);
/// Of a document of v3 that was not parsed.
bool has_dimension_names(const Json& document);

/// `element` of `type` as xarray writes `_FillValue` into Zarr v3: floats of any size as base64 of
/// a little-endian float64. Nothing for types of which xarray reads no mark there (text, dates,
/// ...).
std::optional<Json> spell_mark(const DataType& type, ByteView element);

/// Whether Zarr v3 has no words for a mark of the type: text and complex numbers.
bool has_no_mark_in_v3(const DataType& type);
/// Whether the fill value of such an array, whose axes have names, marks missing cells: a note says
/// so, and it may where it is not the usual one.
bool marks_by_itself(const ArrayMetadata& array);

/// Whether two elements mark the same cells: every NaN marks those that are NaN.
bool same_mark(const DataType& type, ByteView a, ByteView b);

/// Whether the attribute `_FillValue` marks what `array` has as its fill value, and nothing else.
bool mark_repeats_fill(const ArrayMetadata& array);

/// Whether a note, or netCDF's own documents, list `_FillValue` as an attribute that a program
/// wrote: then it is shown as one, too.
bool is_written_mark(const Json& attributes);

/// `_FillValue` in attributes that a program writes, with the note of how it is spelled, becomes as
/// it is `shown` where both are one element of `type`, or netCDF-C printed it (is_netcdf_print).
void spell_mark_as_shown(const DataType& type, const Json& shown, Json& written);

/// Adds `_FillValue` to a document of v3, which marks its fill value. False, and nothing is
/// changed, where it has `_FillValue` already or its type has no mark.
bool add_mark(Json& document);
/// Removes `_FillValue` where it only repeats the fill value. False where it does not.
bool remove_mark(Json& document);
/// Turns `_FillValue` as v2 programs write it (a number) into what xarray reads in Zarr v3, which
/// fails on numbers that mark floats. Only where the axes have names: xarray reads nothing else.
void respell_mark(Json& document);

/// The paths, relative to the group, of the arrays that `multiscales` of its attributes list, in
/// OME-Zarr 0.4 (at the top) or later (inside `ome`). No program takes the fill value of pixels for
/// missing data, even where a writer names their axes.
std::vector<std::string> image_levels(const Json& attributes);
/// Whether attributes are those of an image, plate or well of OME-Zarr 0.3 or 0.4. Pyramids of
/// other conventions, which have `multiscales` without axes, are none.
bool is_ome04(const Json& attributes);

}  // namespace zarrfs
