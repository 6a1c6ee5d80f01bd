#include "core/formats/made_documents.h"

#include <utility>

#include "core/base/json.h"

namespace zarrfs {
namespace {

Json axis(const char* name, const std::string& unit) {
  Json axis = {{"name", name}, {"type", "space"}};
  if (!unit.empty()) axis["unit"] = unit;
  return axis;
}

Json transformations(const ToldScale& scale, const ToldScale& finest) {
  Json size = Json::array({1.0});
  Json place = Json::array({0.0});
  for (std::size_t axis = 3; axis-- > 0;) {
    const double step = scale.voxel_size.at(axis);
    size.push_back(step);
    place.push_back(static_cast<double>(scale.offset.at(axis)) * step +
                    (step - finest.voxel_size.at(axis)) / 2);
  }
  return Json::array({{{"type", "scale"}, {"scale", std::move(size)}},
                      {{"type", "translation"}, {"translation", std::move(place)}}});
}

}  // namespace

Json array_document_of(const ToldArray& array) {
  Json document = {{"zarr_format", 3}, {"node_type", "array"}, {"shape", array.shape}};
  document["data_type"] = array.data_type;
  document["chunk_grid"] = codec_named("regular", {{"chunk_shape", array.chunk_shape}});
  document["chunk_key_encoding"] = codec_named("default", {{"separator", "/"}});
  document["fill_value"] = array.fill_value;
  document["codecs"] = array.codecs;
  if (!array.dimension_names.empty()) document["dimension_names"] = array.dimension_names;
  document["attributes"] = array.attributes;
  return document;
}

Json group_document_of(Json attributes) {
  return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", std::move(attributes)}};
}

Json codec_named(const std::string& name, Json configuration) {
  Json codec = {{"name", name}};
  if (!configuration.is_null()) codec["configuration"] = std::move(configuration);
  return codec;
}

Json little_endian_bytes() { return codec_named("bytes", {{"endian", "little"}}); }

Json ome_attributes(const std::string& name, const std::string& unit,
                    const std::vector<ToldScale>& scales, bool label) {
  Json datasets = Json::array();
  for (const ToldScale& scale : scales) {
    datasets.push_back({{"path", scale.path},
                        {"coordinateTransformations", transformations(scale, scales.front())}});
  }
  Json image = {{"name", name}};
  image["axes"] = Json::array(
      {{{"name", "c"}, {"type", "channel"}}, axis("z", unit), axis("y", unit), axis("x", unit)});
  image["datasets"] = std::move(datasets);
  Json ome = {{"version", "0.5"}, {"multiscales", Json::array({std::move(image)})}};
  if (label) ome["image-label"] = Json::object();
  return {{"ome", std::move(ome)}};
}

}  // namespace zarrfs
