// Families of readers, as data: what each can read of Zarr v2. A profile is one row of the table in
// profile.cc; each column is also an option of the mount. Immutable; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/present/view_options.h"

namespace zarrfs {

/// What a reader makes of a fill value in `.zarray`.
enum class FillStyle {
  kVerbatim,  ///< The v3 value, translated.
  kMask,  ///< As missing data (xarray): never a value that real data may hold; null where needed,
          ///< and materialised.
  kNumeric,  ///< Must be a number, and 0 where a chunk is missing: never null, never NaN spelled
             ///< otherwise than as a string; any other value is materialised (n5-zarr).
  kScalar,  ///< As missing data, with `_FillValue` or `missing_value` in its place. Complex values,
            ///< integers beyond int64, text and structs become null, and are materialised (GDAL).
  kDeclared,  ///< As kMask, and the attribute `_FillValue` is shown too, as a number of the array's
              ///< type (netCDF-C).
  kAsWritten,  ///< As kVerbatim, and the attribute `_FillValue` is shown where netCDF-C wrote it.
               ///< See as_netcdf_wrote().
};

struct Profile {
  std::string name;
  std::string summary;                   ///< Which programs, for --help.
  std::optional<char> separator;         ///< Of chunk keys; nothing: '.' or, for OME-Zarr, '/'.
  std::vector<std::string> compressors;  ///< v2 ids that may stand as compressor, e.g. "zstd"; "*"
                                         ///< for all that numcodecs 0.11 has.
  std::vector<std::string> filters;      ///< v2 ids that may stand in filters; empty: none.
  std::vector<std::string> types;  ///< Types read, see type_token() in v2_types.h: "i1", "f4",
                                   ///< "M8", "S", "struct"; "*" for all.
  bool big_endian = true;          ///< Whether big-endian types are read.
  bool fortran = true;             ///< Whether order "F" is read.
  bool clamp_chunks =
      false;  ///< Chunks larger than the array are refused by the reader (netCDF-C 4.9.0).
  bool zero_dimensions = true;  ///< Dimensions of length 0 are read.
  bool scalars = true;          ///< Rank 0 is read.
  FillStyle fill = FillStyle::kVerbatim;
  bool always_dimension_names = false;  ///< `_ARRAY_DIMENSIONS` is needed (xarray).
  bool ome04 = true;                    ///< OME-Zarr 0.5 attributes are turned into 0.4.
  bool numbered_levels = false;         ///< Levels of images in plates are looked for as 0, 1, ...
  bool unique_dimensions = false;  ///< A name of a dimension has one length in the whole store.
  bool nested_attributes = true;   ///< Lists of anything but numbers, objects and null are read in
                                   ///< attributes; otherwise they are shown as JSON text.
  bool ascii = true;  ///< Documents are shown in ASCII, other characters escaped (zarr-python 2.13
                      ///< reads nothing else); otherwise in UTF-8 (netCDF-C knows no escapes).

  bool as_noted = false;  ///< Other readers come, too: what this one would not read is shown as it
                          ///< was written (fill values of null, see v2_note.h; nested attributes).

  [[nodiscard]] bool reads_compressor(std::string_view id) const;
  [[nodiscard]] bool reads_filter(std::string_view id) const;
  [[nodiscard]] bool reads_type(std::string_view token) const;
};

/// The table.
const std::vector<Profile>& profiles();

/// `profile` for the data sets that netCDF-C itself wrote: it finds its documents as it wrote them.
/// Codecs, byte order and separator stay those of the profile.
Profile as_netcdf_wrote(Profile profile);

/// Names of the columns that can be changed by options ("compressors", "filters", ...), with help
/// texts.
struct ProfileColumn {
  enum class Kind {
    kNames,  ///< "a+b", "none", "*" for all
    kFlag,   ///< "yes", "no"
    kWord
  };
  std::string name;
  std::string help;
  Kind kind = Kind::kWord;
};
const std::vector<ProfileColumn>& profile_columns();

/// The value of the column `name`, which there is, as text.
std::string profile_column(const Profile& profile, const std::string& name);
/// kInvalid, naming column and value, where `value` is none of it.
Result<void> set_profile_column(Profile& profile, const std::string& name,
                                const std::string& value);

/// The profile that is chosen by what the store is, when it is mounted; till then it stands for the
/// first row.
inline constexpr const char* kAutoProfile = "auto";
inline constexpr const char* kAutoSummary =
    "ome for a store with OME-Zarr metadata; netcdf, or xarray where that one would hide arrays or "
    "rename dimensions, for one with CF attributes or coordinates; else generic";

/// The row `options.profile`, with the columns that the options change. kInvalid, naming option and
/// value, otherwise.
Result<Profile> choose_profile(const ViewOptions& options);

}  // namespace zarrfs
