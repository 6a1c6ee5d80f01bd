#include "core/zarr/render_v3.h"

#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/metadata/chunk_key.h"

namespace zarrfs {
namespace {

/// The order of a rendered transpose; null for other codecs and orders spelled as a letter.
const Json* order_of(const Json& codec) {
  if (codec["name"] != "transpose") return nullptr;
  const Json& order = codec["configuration"]["order"];
  return order.is_array() ? &order : nullptr;
}

/// Transposes that follow each other, as where one stands before sharding and one within, become
/// one: zarrita.js misreads two.
Json render_codecs(const CodecChain& chain) {
  Json codecs = Json::array();
  for (const CodecChain::Step& step : chain.steps()) {
    Json codec = render_codec(step.spec);
    const Json* before = codecs.empty() ? nullptr : order_of(codecs.back());
    const Json* after = before == nullptr ? nullptr : order_of(codec);
    if (after == nullptr) {
      codecs.push_back(std::move(codec));
      continue;
    }
    Json composed = Json::array();
    for (const Json& axis : *after) composed.push_back((*before)[axis.get<std::size_t>()]);
    codecs.back()["configuration"]["order"] = std::move(composed);
  }
  return codecs;
}

/// The edges of an axis that is not regular, as a rectilinear grid lists them.
Json render_edges(const AxisGrid& axis) {
  Json edges = Json::array();
  for (const EdgeRun& run : axis.runs()) {
    if (run.count == 1) {
      edges.push_back(run.size);
    } else {
      edges.push_back(Json::array({run.size, run.count}));
    }
  }
  return edges;
}

Json render_grid(const Layout& layout) {
  Json grid = Json::object();
  if (layout.regular()) {
    grid["name"] = "regular";
    grid["configuration"]["chunk_shape"] = layout.chunk_shape();
    return grid;
  }
  Json shapes = Json::array();
  for (const AxisGrid& axis : layout.grid().axes) shapes.push_back(render_edges(axis));
  grid["name"] = "rectilinear";
  grid["configuration"]["kind"] = "inline";
  grid["configuration"]["chunk_shapes"] = shapes;
  return grid;
}

}  // namespace

Json render_codec(const CodecSpec& spec) {
  Json codec = Json::object();
  codec["name"] = spec.name;
  // zarr-python refuses codecs of numcodecs without a configuration, even an empty one.
  const bool needed = spec.name.starts_with("numcodecs.");
  if (needed || !spec.configuration->empty()) codec["configuration"] = spec.configuration;
  return codec;
}

Json render_unsharded(const ArrayMetadata& array, const Layout& layout) {
  Json document = array.document;
  document["data_type"] = array.type.spelled;
  document["chunk_grid"] = render_grid(layout);
  document["chunk_key_encoding"] = render_chunk_key_encoding(array.key_encoding);
  document["codecs"] = render_codecs(layout.chunk_chain());
  document.erase("storage_transformers");
  return document;
}

}  // namespace zarrfs
