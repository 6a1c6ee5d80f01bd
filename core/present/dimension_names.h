// Names of dimensions for readers to whom a name has one length in the whole store (netCDF-C makes
// all dimensions in the root, and cuts arrays off at the length it met first). Pure; not
// thread-safe while names are added.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/metadata/metadata.h"

namespace zarrfs {

/// The attribute in which xarray, GDAL and netCDF-C look for names of dimensions.
inline constexpr const char* kDimensionsAttribute = "_ARRAY_DIMENSIONS";

/// The names of an array's dimensions: those of its attribute, or else of its document. What has no
/// name gets one with the length of the axis: "dim_0_512".
std::vector<std::string> names_of_dimensions(const ArrayMetadata& array);

class DimensionNames {
 public:
  /// Takes in the dimensions of an array. What comes first keeps its name: outer arrays first.
  void add(const ArrayMetadata& array);
  /// What a dimension is called: its name, or, where that has another length elsewhere, the name
  /// with the length: "x_6".
  [[nodiscard]] std::string shown(const std::string& name, std::uint64_t length) const;

 private:
  void add(const std::string& name, std::uint64_t length);

  std::map<std::pair<std::string, std::uint64_t>, std::string> shown_;
  std::map<std::string, std::uint64_t> taken_;  // shown name -> length
};

}  // namespace zarrfs
