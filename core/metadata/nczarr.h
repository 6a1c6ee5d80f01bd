// What netCDF-C adds to the documents of Zarr v2, and words of its own in them. Source: netCDF-C's
// "NCZarr" documentation, and what netCDF-C 4.9.0, 4.9.2, 4.9.3 and 4.10.1 write. Versions up to
// 4.9.2 have `_NCZARR_SUPERBLOCK`, `_NCZARR_GROUP` and `_NCZARR_ARRAY` (later in small letters) as
// members of `.zgroup` and `.zarray`; those from 4.9.3 on have them as attributes in `.zattrs`, and
// list them there among the types of attributes. In Zarr v3 all are attributes.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/types/data_type.h"

namespace zarrfs {

/// Whether an attribute or member of this name is netCDF-C's own: `_nczarr_...`, in letters of
/// either size.
bool is_nczarr_name(std::string_view name);

/// Whether a group with these attributes is the root of a data set that netCDF-C wrote: it has
/// `_NCProperties`, which every mode of it writes before the first array, or a superblock.
bool is_netcdf_root(const Json& attributes);

/// Puts the members that netCDF-C added to `document`, a `.zgroup` or `.zarray`, into the
/// attributes that are stored, in place of those of an earlier such document.
void take_nczarr_members(const Json& document, Json& attributes);
/// The inverse: adds to `document`, a `.zgroup` or `.zarray`, what stands in its place in the
/// attributes that are stored.
void show_nczarr_members(const Json& attributes, Json& document);
/// The attributes that are stored without what show_nczarr_members() shows.
Json without_nczarr_members(Json attributes);

/// The names of the dimensions of an array of `rank` that netCDF-C's own documents tell; nothing
/// where they tell none.
std::optional<std::vector<std::string>> nczarr_dimensions(const Json& attributes, std::size_t rank);

/// `.zarray` as netCDF-C wrote it, in words that every reader takes as netCDF-C means them: numbers
/// of codecs that it writes as text become numbers, and the element size 0 of `shuffle`, which
/// others take for "not shuffled", that of the type.
Json common_words(Json zarray);

/// The same for the codecs of a `zarr.json` that was made of such a `.zarray`.
void respell_codecs(Json& document);

/// Whether a `.zarray` by itself tells that netCDF-C wrote it: it has a member of its own, or
/// numbers of codecs as text, as no other program writes them.
bool is_netcdf_zarray(const Json& zarray);

/// Why a `.zarray` of netCDF-C cannot be kept; empty where it can.
std::string why_not_kept(const Json& zarray);

/// Whether `written` is the number `read` as netCDF-C 4.9.0 prints floats into its documents, with
/// six digits. It prints anew what it has only read: of what was edited it tells nothing.
bool is_netcdf_print(const Json& written, const Json& read);

/// Whether netCDF-C writes `element` as the fill value of arrays for which none was asked.
bool is_netcdf_default_fill(const DataType& type, ByteView element);

}  // namespace zarrfs
