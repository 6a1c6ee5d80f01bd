#include "core/zarr/render_v3.h"

#include <string>

#include "core/zarr/chunk_key.h"

namespace zarrfs {
namespace {

Json render_codecs(const CodecChain& chain) {
  Json codecs = Json::array();
  for (const CodecChain::Step& step : chain.steps()) codecs.push_back(render_codec(step.spec));
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
  if (needed || !spec.configuration.empty()) codec["configuration"] = spec.configuration;
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
