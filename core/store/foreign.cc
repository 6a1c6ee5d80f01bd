#include "core/store/foreign.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kHdf = "an HDF5 file, as those of netCDF-4; h5py, netCDF4 and xarray read it";
constexpr std::string_view kHdfMagic = "\x89HDF\r\n\x1a\n"sv;
constexpr std::string_view kIcechunkMagic =
    "ICE\xF0\x9F\xA7\x8A"
    "CHUNK"sv;

struct Magic {
  std::string_view bytes;
  const char* what;
};
constexpr const char* kTiff = "a TIFF file; tifffile and GDAL read it";
constexpr const char* kNetcdf = "a netCDF file (classic); netCDF4 and xarray read it";
constexpr std::array kMagics = {
    Magic{kHdfMagic, kHdf},
    Magic{kIcechunkMagic, "a file of an Icechunk repository; zarrfs reads its whole directory"},
    Magic{"PAR1"sv, "a Parquet file; pyarrow and pandas read it"},
    Magic{"II*\0"sv, kTiff},
    Magic{"MM\0*"sv, kTiff},
    Magic{"II+\0"sv, kTiff},
    Magic{"MM\0+"sv, kTiff},
    Magic{"CDF\x01"sv, kNetcdf},
    Magic{"CDF\x02"sv, kNetcdf},
    Magic{"CDF\x05"sv, kNetcdf},
    Magic{"PK\x03\x04"sv, "a zip archive; zarrfs reads it where its name ends with .zip or .ozx"},
};

/// Source: HDF5 file format specification, "Format Signature and Superblock": at 0, or behind a
/// block of another format of 512, 1024, 2048, ... bytes.
bool is_hdf(std::string_view text) {
  for (std::size_t at = 512; at < text.size(); at *= 2) {
    if (text.substr(at).starts_with(kHdfMagic)) return true;
  }
  return false;
}

bool holds(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

bool is_there(Store& store, const std::string& path) {
  const auto status = store.status(path);
  return status && *status && S_ISREG((*status)->st_mode);
}

}  // namespace

bool begins_as_references(ByteView start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  if (holds(text, "\"zarr_consolidated_format\"")) return false;  // a .zmetadata has such keys
  return holds(text, "\"refs\"") || holds(text, ".zarray\"") || holds(text, ".zgroup\"");
}

std::optional<std::string> foreign_file(ByteView start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) return magic.what;
  }
  if (is_hdf(text)) return kHdf;
  return std::nullopt;
}

std::optional<std::string> foreign_store(Store& store) {
  if (is_there(store, "manifest.ocdbt")) return "an OCDBT database; TensorStore reads it";
  return std::nullopt;
}

}  // namespace zarrfs
