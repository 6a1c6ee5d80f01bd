#include "core/present/profile.h"

#include <algorithm>
#include <functional>

#include "core/present/profile_names.h"

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

const std::vector<std::pair<std::string, FillStyle>> kFillStyles = {
    {"verbatim", FillStyle::kVerbatim},
    {"mask", FillStyle::kMask},
    {"numeric", FillStyle::kNumeric},
    {"scalar", FillStyle::kScalar},
    {"declared", FillStyle::kDeclared}};

Result<FillStyle> parse_fill_style(const std::string& value) {
  std::string list;
  for (const auto& [word, style] : kFillStyles) {
    if (word == value) return style;
    list_name(list, word);
  }
  return fail(Fault::kInvalid, "option fill: \"" + value + "\" is not one of " + list);
}

std::string fill_style_word(FillStyle style) {
  for (const auto& [word, one] : kFillStyles) {
    if (one == style) return word;
  }
  return "";
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
  std::function<std::string(const Profile&)> text;
};

Column names_column(const std::string& name, const std::string& help, Names Profile::*member,
                    const Names& known, const Names& all) {
  const auto set = [name, member, known, all](Profile& profile,
                                              const std::string& value) -> Result<void> {
    Names names = expand(split_profile_names(value), all);
    if (names != kAll) ZARRFS_CHECK(check_known(names, known, name));
    profile.*member = std::move(names);
    return {};
  };
  return {{name, help, ProfileColumn::Kind::kNames}, set, [member](const Profile& profile) {
            return join_profile_names(profile.*member);
          }};
}

Column flag_column(const std::string& name, const std::string& help, bool Profile::*member) {
  const auto set = [name, member](Profile& profile, const std::string& value) -> Result<void> {
    ZARRFS_TRY(profile.*member, parse_flag(name, value));
    return {};
  };
  return {{name, "yes or no: " + help, ProfileColumn::Kind::kFlag},
          set,
          [member](const Profile& profile) { return profile.*member ? "yes" : "no"; }};
}

Column fill_column() {
  const auto set = [](Profile& profile, const std::string& value) -> Result<void> {
    ZARRFS_TRY(profile.fill, parse_fill_style(value));
    return {};
  };
  return {
      {"fill", "verbatim, mask, numeric, scalar or declared: what the reader makes of fill values",
       ProfileColumn::Kind::kWord},
      set,
      [](const Profile& profile) { return fill_style_word(profile.fill); }};
}

std::vector<Column> make_columns() {
  return {
      names_column("compressors",
                   "codecs the reader knows as compressor, e.g. blosc+zlib; none; * for all",
                   &Profile::compressors, kNumcodecs, kNumcodecs),
      names_column("filters",
                   "codecs the reader knows as filters, e.g. delta+shuffle; none; * for all",
                   &Profile::filters, kNumcodecsFilters, kNumcodecsFilters),
      names_column("types",
                   "data types the reader knows, e.g. i1+u1+f4, M8, S, U, V, O, struct; * for all",
                   &Profile::types, known_types(), kAll),
      flag_column("big_endian", "the reader knows big-endian types", &Profile::big_endian),
      flag_column("fortran", "the reader knows order F", &Profile::fortran),
      flag_column("clamp_chunks", "chunks are shown no larger than the array",
                  &Profile::clamp_chunks),
      flag_column("zero_dimensions", "the reader knows dimensions of length 0",
                  &Profile::zero_dimensions),
      flag_column("scalars", "the reader knows arrays without dimensions", &Profile::scalars),
      fill_column(),
      flag_column("dimension_names", "every array gets _ARRAY_DIMENSIONS",
                  &Profile::always_dimension_names),
      flag_column("ome04", "OME-Zarr 0.5 attributes are shown as 0.4", &Profile::ome04),
      flag_column("numbered_levels", "levels of images in plates are shown as 0, 1, ...",
                  &Profile::numbered_levels),
      flag_column("unique_dimensions",
                  "a dimension whose name has another length elsewhere in the store is renamed",
                  &Profile::unique_dimensions),
      flag_column("nested_attributes",
                  "the reader knows attributes other than text, numbers and lists of numbers",
                  &Profile::nested_attributes),
      flag_column("ascii",
                  "documents are shown in ASCII, other characters as \\uXXXX; no: in UTF-8",
                  &Profile::ascii),
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
  return fail(Fault::kInvalid, "option profile: \"" + name + "\" is not one of " + list +
                                   "; a profile in a file has a / in its name, or ends in .json");
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

std::string profile_column(const Profile& profile, const std::string& name) {
  for (const Column& column : columns()) {
    if (column.described.name == name) return column.text(profile);
  }
  return "";
}

Result<void> set_profile_column(Profile& profile, const std::string& name,
                                const std::string& value) {
  for (const Column& column : columns()) {
    if (column.described.name == name) return column.set(profile, value);
  }
  return fail(Fault::kInvalid, "option " + name + " is not a column of the profiles");
}

Result<Profile> choose_profile(const ViewOptions& options) {
  ZARRFS_TRY(Profile profile, find_profile(options.profile));
  for (const auto& [name, value] : options.columns) {
    ZARRFS_CHECK(set_profile_column(profile, name, value));
  }
  return profile;
}

}  // namespace zarrfs
