#include "core/present/profile.h"

#include <algorithm>
#include <functional>

namespace zarrfs {
namespace {

using Names = std::vector<std::string>;

const Names kNumcodecs = {"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"};
const Names kNumcodecsFilters = {
    "adler32",  "astype",           "bitround",   "blosc",     "bz2",  "crc32",
    "delta",    "fixedscaleoffset", "gzip",       "lz4",       "lzma", "packbits",
    "quantize", "shuffle",          "vlen-bytes", "vlen-utf8", "zlib", "zstd"};
const Names kAll = {"*"};

std::vector<Profile> make_profiles() {
  Profile generic;
  generic.name = "generic";
  generic.summary = "zarr-python 2, fsspec, kerchunk and whatever uses numcodecs 0.11";
  generic.compressors = kNumcodecs;
  generic.filters = kNumcodecsFilters;
  generic.types = kAll;
  generic.as_noted = true;

  Profile xarray = generic;
  xarray.name = "xarray";
  xarray.summary = "xarray with zarr-python 2, which takes the fill value for missing data";
  xarray.separator = '.';
  xarray.fill = FillStyle::kMask;
  xarray.always_dimension_names = true;
  xarray.as_noted = false;

  Profile ome = generic;
  ome.name = "ome";
  ome.summary =
      "OME-Zarr 0.4 readers: n5-zarr (Fiji, BDV, MoBIE), Bio-Formats, QuPath, neuroglancer, napari";
  ome.separator = '/';
  ome.compressors = {"blosc", "gzip", "zlib"};
  ome.filters = {"vlen-utf8"};
  ome.types = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "S", "O"};
  ome.fortran = false;
  ome.fill = FillStyle::kNumeric;
  ome.numbered_levels = true;
  ome.as_noted = false;

  Profile gdal = generic;
  gdal.name = "gdal";
  gdal.summary = "GDAL 3.4 to 3.12, QGIS";
  gdal.compressors = {"blosc", "gzip", "lz4", "lzma", "zlib", "zstd"};
  gdal.filters = {"delta"};  // GDAL 3.6 fails to undo a compressor that stands as a filter
  gdal.types = {"b1", "i1", "i2", "i4", "i8",  "u1", "u2", "u4",    "u8",
                "f2", "f4", "f8", "c8", "c16", "S",  "U",  "struct"};
  gdal.zero_dimensions = false;
  gdal.fill = FillStyle::kScalar;
  gdal.as_noted = false;

  Profile netcdf = generic;
  netcdf.name = "netcdf";
  netcdf.summary =
      "netCDF-C 4.8 and 4.9 without filter plugins, ncdump, netCDF4-python, cdo, nco; xarray, too";
  netcdf.separator = '.';
  netcdf.compressors = {};
  netcdf.filters = {};
  netcdf.types = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"};
  netcdf.big_endian = false;
  netcdf.fortran = false;
  netcdf.clamp_chunks = true;
  netcdf.zero_dimensions = false;
  netcdf.scalars = false;
  netcdf.fill = FillStyle::kDeclared;
  netcdf.always_dimension_names = true;
  netcdf.unique_dimensions = true;
  netcdf.nested_attributes = false;  // one nested list, and netCDF-C 4.9.0 opens nothing
  netcdf.ascii = false;
  netcdf.as_noted = false;

  return {generic, xarray, ome, gdal, netcdf};
}

bool holds(const Names& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return one == "*" || one == name; });
}

/// "a+b+c" as names; "none" and nothing as no names.
Names split_names(const std::string& text) {
  Names names;
  if (text.empty() || text == "none") return names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// Replaces what "*" stands for where the table asks for names that can be looked at one by one.
Names expand(Names names, const Names& all) {
  if (names == kAll) return all;
  return names;
}

/// Adds `name` to a list for a message.
void list_name(std::string& list, const std::string& name) {
  if (!list.empty()) list += ", ";
  list += name;
}

Result<void> check_known(const Names& names, const Names& known, const std::string& column) {
  const auto is_known = [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  const auto unknown = std::find_if_not(names.begin(), names.end(), is_known);
  if (unknown == names.end()) return {};
  std::string list;
  for (const std::string& one : known) list_name(list, one);
  return fail(Fault::kInvalid,
              "option " + column + ": \"" + *unknown + "\" is not one of " + list + " or *");
}

Result<bool> parse_flag(const std::string& column, const std::string& value) {
  if (value == "yes" || value == "true" || value == "1") return true;
  if (value == "no" || value == "false" || value == "0") return false;
  return fail(Fault::kInvalid, "option " + column + ": \"" + value + "\" is neither yes nor no");
}

Result<FillStyle> parse_fill_style(const std::string& value) {
  if (value == "verbatim") return FillStyle::kVerbatim;
  if (value == "mask") return FillStyle::kMask;
  if (value == "numeric") return FillStyle::kNumeric;
  if (value == "scalar") return FillStyle::kScalar;
  if (value == "declared") return FillStyle::kDeclared;
  return fail(Fault::kInvalid, "option fill: \"" + value +
                                   "\" is not one of verbatim, mask, numeric, scalar, declared");
}

const Names& known_types() {
  static const Names types = {"b1", "i1", "i2",  "i4", "i8", "u1", "u2", "u4", "u8", "f2",    "f4",
                              "f8", "c8", "c16", "M8", "m8", "S",  "U",  "V",  "O",  "struct"};
  return types;
}

using Setter = std::function<Result<void>(Profile&, const std::string&)>;

struct Column {
  ProfileColumn described;
  Setter set;
};

Setter names_setter(std::string column, Names Profile::*member, Names known, Names all) {
  return [column = std::move(column), member, known = std::move(known), all = std::move(all)](
             Profile& profile, const std::string& value) -> Result<void> {
    Names names = expand(split_names(value), all);
    if (names != kAll) ZARRFS_CHECK(check_known(names, known, column));
    profile.*member = std::move(names);
    return {};
  };
}

Setter flag_setter(std::string column, bool Profile::*member) {
  return [column = std::move(column), member](Profile& profile,
                                              const std::string& value) -> Result<void> {
    ZARRFS_TRY(profile.*member, parse_flag(column, value));
    return {};
  };
}

std::vector<Column> make_columns() {
  return {
      {{"compressors", "codecs the reader knows as compressor, e.g. blosc+zlib; none; * for all"},
       names_setter("compressors", &Profile::compressors, kNumcodecs, kNumcodecs)},
      {{"filters", "codecs the reader knows as filters, e.g. delta+shuffle; none; * for all"},
       names_setter("filters", &Profile::filters, kNumcodecsFilters, kNumcodecsFilters)},
      {{"types", "data types the reader knows, e.g. i1+u1+f4, M8, S, U, V, O, struct; * for all"},
       names_setter("types", &Profile::types, known_types(), kAll)},
      {{"big_endian", "yes or no: the reader knows big-endian types"},
       flag_setter("big_endian", &Profile::big_endian)},
      {{"fortran", "yes or no: the reader knows order F"},
       flag_setter("fortran", &Profile::fortran)},
      {{"clamp_chunks", "yes or no: chunks are shown no larger than the array"},
       flag_setter("clamp_chunks", &Profile::clamp_chunks)},
      {{"zero_dimensions", "yes or no: the reader knows dimensions of length 0"},
       flag_setter("zero_dimensions", &Profile::zero_dimensions)},
      {{"scalars", "yes or no: the reader knows arrays without dimensions"},
       flag_setter("scalars", &Profile::scalars)},
      {{"fill",
        "verbatim, mask, numeric, scalar or declared: what the reader makes of fill values"},
       [](Profile& profile, const std::string& value) -> Result<void> {
         ZARRFS_TRY(profile.fill, parse_fill_style(value));
         return {};
       }},
      {{"dimension_names", "yes or no: every array gets _ARRAY_DIMENSIONS"},
       flag_setter("dimension_names", &Profile::always_dimension_names)},
      {{"ome04", "yes or no: OME-Zarr 0.5 attributes are shown as 0.4"},
       flag_setter("ome04", &Profile::ome04)},
      {{"numbered_levels", "yes or no: levels of images in plates are shown as 0, 1, ..."},
       flag_setter("numbered_levels", &Profile::numbered_levels)},
      {{"unique_dimensions",
        "yes or no: a dimension whose name has another length elsewhere in the store is renamed"},
       flag_setter("unique_dimensions", &Profile::unique_dimensions)},
      {{"nested_attributes",
        "yes or no: the reader knows attributes other than text, numbers and lists of numbers"},
       flag_setter("nested_attributes", &Profile::nested_attributes)},
      {{"ascii",
        "yes or no: documents are shown in ASCII, other characters as \\uXXXX; no: in UTF-8"},
       flag_setter("ascii", &Profile::ascii)},
  };
}

const std::vector<Column>& columns() {
  static const std::vector<Column> table = make_columns();
  return table;
}

Result<Profile> find_profile(const std::string& name) {
  if (name == kAutoProfile) return profiles().front();
  std::string list = kAutoProfile;
  for (const Profile& profile : profiles()) {
    if (profile.name == name) return profile;
    list_name(list, profile.name);
  }
  return fail(Fault::kInvalid, "option profile: \"" + name + "\" is not one of " + list);
}

Result<void> set_column(Profile& profile, const std::string& name, const std::string& value) {
  for (const Column& column : columns()) {
    if (column.described.name == name) return column.set(profile, value);
  }
  return fail(Fault::kInvalid, "option " + name + " is not a column of the profiles");
}

}  // namespace

bool Profile::reads_compressor(std::string_view id) const { return holds(compressors, id); }
bool Profile::reads_filter(std::string_view id) const { return holds(filters, id); }
bool Profile::reads_type(std::string_view token) const { return holds(types, token); }

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> table = make_profiles();
  return table;
}

Profile as_netcdf_wrote(Profile profile) {
  profile.types = kAll;
  profile.clamp_chunks = false;
  profile.zero_dimensions = true;
  profile.scalars = true;
  profile.fill = FillStyle::kAsWritten;
  profile.always_dimension_names = false;
  profile.unique_dimensions = false;
  profile.ome04 = false;
  profile.nested_attributes = true;
  profile.ascii = false;
  profile.as_noted = true;
  return profile;
}

const std::vector<ProfileColumn>& profile_columns() {
  static const std::vector<ProfileColumn> table = [] {
    std::vector<ProfileColumn> described;
    for (const Column& column : columns()) described.push_back(column.described);
    return described;
  }();
  return table;
}

Result<Profile> choose_profile(const ViewOptions& options) {
  ZARRFS_TRY(Profile profile, find_profile(options.profile));
  for (const auto& [name, value] : options.columns) {
    ZARRFS_CHECK(set_column(profile, name, value));
  }
  return profile;
}

}  // namespace zarrfs
