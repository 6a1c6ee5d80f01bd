#include "core/zarr/render_v3.h"

namespace zarrfs {

Json render_codec(const CodecSpec& spec) {
  Json codec{{"name", spec.name}};
  if (!spec.configuration.empty()) codec["configuration"] = spec.configuration;
  return codec;
}

Json render_unsharded(const ArrayMetadata& array, const Layout& layout) {
  Json document = array.document;
  document["data_type"] = array.type.spelled;
  if (layout.regular()) {
    document["chunk_grid"] = {{"name", "regular"},
                              {"configuration", {{"chunk_shape", layout.chunk_shape()}}}};
    Json codecs = Json::array();
    for (const CodecChain::Step& step : layout.chunk_chain().steps())
      codecs.push_back(render_codec(step.spec));
    document["codecs"] = std::move(codecs);
  }
  const bool v2_keys = array.key_encoding.kind == ChunkKeyEncoding::Kind::kV2;
  document["chunk_key_encoding"] = {
      {"name", v2_keys ? "v2" : "default"},
      {"configuration", {{"separator", std::string(1, array.key_encoding.separator)}}}};
  document.erase("storage_transformers");
  return document;
}

}  // namespace zarrfs
