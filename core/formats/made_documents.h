// The words of Zarr v3 and OME-Zarr 0.5 in which formats tell their groups and arrays.
// Source: Zarr v3 core ("Metadata"); OME-Zarr 0.5 ("multiscales"). Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace zarrfs {

/// An array as its zarr.json says it; chunk keys are "c/0/1".
struct ToldArray {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk_shape;
  Json data_type;
  Json fill_value = 0;
  Json codecs = Json::array();
  std::vector<std::string> dimension_names;
  Json attributes = Json::object();
};
Json array_document_of(const ToldArray& array);
Json group_document_of(Json attributes);

/// {"name": ..., "configuration": ...}.
Json codec_named(const std::string& name, Json configuration = Json());
Json little_endian_bytes();

/// One resolution of an image whose axes are c, z, y, x. Lengths are in `unit`, in the order x, y,
/// z, as the formats have them.
struct ToldScale {
  std::string path;
  std::array<double, 3> voxel_size{1, 1, 1};
  std::array<std::int64_t, 3> offset{};  ///< Of the first voxel, in voxels of this resolution.
};
/// The attributes of a group that is an OME-Zarr 0.5 image; `label` where its values are labels.
/// OME's positions are those of voxels' centres: the first voxel of the first scale lies at its
/// offset, and those of coarser scales half a voxel's difference further.
Json ome_attributes(const std::string& name, const std::string& unit,
                    const std::vector<ToldScale>& scales, bool label);

}  // namespace zarrfs
