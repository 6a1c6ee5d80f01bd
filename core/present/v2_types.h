// Data types and fill values in the words of Zarr v2: numpy's.
// Source: Zarr v2 specification ("Data type encoding", "Fill value encoding"), numpy's array
// interface. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/present/profile.h"
#include "core/types/data_type.h"

namespace zarrfs {

/// The type under which elements of `type` are shown: what numpy lacks becomes the numpy type that
/// holds every value, float16 float32 for a reader that knows only the latter, and datetimes
/// without a unit become integers. Nothing where there is no such type.
struct ShownType {
  DataType type;
  bool widened =
      false;        ///< Elements must be converted with widen(); otherwise the bytes are the same.
  DataType stored;  ///< Where widened: the type of the elements, as widen() takes it.
};
std::optional<ShownType> shown_type(const DataType& type, const Profile& profile);

/// How the profiles name a type that numpy has: "b1", "i4", "f2", "c8", "M8", "m8", "S", "U", "V",
/// "O", "struct".
std::string type_token(const DataType& type);

/// `dtype` of `.zarray`: a typestr, or a list of fields for structs. Only for types of
/// shown_type().
Json v2_dtype(const DataType& type, bool big_endian);

/// What `.zarray` says about elements never written.
struct V2Fill {
  Json value;
  /// Why missing chunks must be answered with real bytes, as the reader would make something else
  /// of `value`; empty where `value` says it all.
  std::string materialise_because;
};

/// Whether the attribute `missing_value` stands for `_FillValue` where there is none.
enum class MissingValue { kMarks, kMarksNothing };

/// `fill_value` for an array of `type` (of shown_type()) whose fill value is `element`,
/// little-endian. `attributes` may hold `_FillValue`, which some styles put in the place of the
/// fill value.
V2Fill v2_fill(const DataType& type, ByteView element, bool big_endian, FillStyle style,
               const Json& attributes, MissingValue missing_value = MissingValue::kMarks);

/// Whether all bytes of `element` are 0.
bool is_zero(ByteView element);

/// The fill value whatever the reader makes of it: for where chunks cannot or shall not be
/// materialised.
Json plain_v2_fill(const DataType& type, ByteView element, bool big_endian);

/// The element that an attribute `_FillValue` stands for, as xarray writes it into Zarr v3 (floats
/// as base64 of a float64); nothing where it is absent or fits no element of `type`.
std::optional<Bytes> fill_attribute(const DataType& type, const Json& attributes);

/// The attributes for a reader of `style`, which may take the fill value of `.zarray` for what
/// `_FillValue` says, or need `_FillValue` as a number of the array's type. Where `_FillValue` only
/// repeats `fill`, the fill value of `.zarray` says it, unless a program wrote both
/// (is_written_mark). Base64 of a float becomes a number. Those
/// that fit no element of `type` stay.
Json fill_attributes(Json attributes, const DataType& type, ByteView fill, FillStyle style,
                     MissingValue missing_value = MissingValue::kMarks);

/// The attribute by which xarray and netCDF mark missing values, and the older one.
inline constexpr const char* kFillAttribute = "_FillValue";
inline constexpr const char* kMissingAttribute = "missing_value";
/// Where netCDF-C looks for the types of attributes (NCZarr); without it -9 is a byte.
inline constexpr const char* kNczarrAttribute = "_NCZARR_ATTR";

}  // namespace zarrfs
