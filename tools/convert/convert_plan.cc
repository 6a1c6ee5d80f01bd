#include "tools/convert/convert_plan.h"

#include <algorithm>

#include "core/base/json.h"

namespace zarrfs::tools {
namespace {

Json codec_json(const CodecSpec& spec) {
  Json json = {{"name", spec.name}, {"configuration", spec.configuration}};
  if (!spec.must_understand) json["must_understand"] = false;
  return json;
}

bool identity(std::span<const std::uint64_t> order) {
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    if (order[axis] != axis) return false;
  }
  return true;
}

// One level of shards, nothing around it or before it: then the inner codecs stand in the document
// as they are.
bool simply_sharded(const Layout& layout) {
  return layout.levels().size() == 1 && layout.levels()[0].around.steps().empty() &&
         identity(layout.order());
}

// The codecs of the inner chunks, in array axes.
Json chunk_codec_list(const ArrayMetadata& array, const Layout& layout) {
  if (!layout.sharded()) return array.document->at("codecs");
  Json list = Json::array();
  if (simply_sharded(layout) && array.codecs.size() == 1 &&
      array.codecs[0].configuration->contains("codecs")) {
    return array.codecs[0].configuration["codecs"];
  }
  for (const CodecChain::Step& step : layout.chunk_chain().steps()) {
    list.push_back(codec_json(step.spec));
  }
  return list;
}

// The document that the result begins with: keys of an array that was v2 take v3's own form.
Json base_document(const SourceArray& array) {
  Json document = array.node.node.array->document;
  if (array.node.zarr_format == 2) {
    document["chunk_key_encoding"] = {{"name", "default"}, {"configuration", {{"separator", "/"}}}};
  }
  return document;
}

ArrayPlan keep(const SourceArray& array, std::string reason, bool left) {
  ArrayPlan plan;
  plan.reason = std::move(reason);
  plan.left = left;
  if (array.node.zarr_format == 2) plan.document = array.node.node.array->document;
  return plan;
}

Result<void> add_target(ArrayPlan& plan, const std::string& path) {
  ZARRFS_TRY(ArrayMetadata metadata, parse_array(plan.document, path));
  ZARRFS_TRY(Layout layout, Layout::make(metadata));
  plan.metadata = std::make_shared<ArrayMetadata>(std::move(metadata));
  plan.layout = std::make_shared<Layout>(std::move(layout));
  return {};
}

bool has_shard_shape(const Layout& layout, const std::vector<std::uint64_t>& shard_shape) {
  if (!layout.sharded() || !simply_sharded(layout)) return false;
  const auto& axes = layout.grid().axes;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].regular_edge() != shard_shape[axis]) return false;
  }
  return true;
}

}  // namespace

bool names_shards(const ShardForm& form) {
  return !form.shape.empty() || !form.chunks.empty() || form.bytes != 0;
}

const char* Form::command() const {
  switch (kind) {
    case Kind::kSharded: return "shard";
    case Kind::kResharded: return "reshard";
    case Kind::kPlain:
    case Kind::kPlainV2: break;
  }
  return "unshard";
}

Json Form::json() const {
  return Json{{"command", command()},
              {"format", kind == Kind::kPlainV2 ? "v2" : "v3"},
              {"shard_shape", shards.shape},
              {"shard_chunks", shards.chunks},
              {"shard_bytes", shards.bytes}};
}

Result<ArrayPlan> plan_array(const SourceArray& array, const Form& form) {
  const Node& node = array.node.node;
  const Layout& layout = *node.layout;
  const bool already = form.kind == Form::Kind::kSharded && layout.sharded();
  if (already && !names_shards(form.shards)) {
    return keep(array, "is sharded already", false);
  }
  if (form.kind == Form::Kind::kResharded && !layout.sharded()) {
    return keep(array, "is not sharded", true);
  }
  if (form.kind == Form::Kind::kPlain && !layout.sharded()) {
    return keep(array, "is not sharded", false);
  }
  if (!layout.regular()) return keep(array, "its chunks are of several sizes", true);

  ArrayPlan plan;
  plan.document = base_document(array);
  Json codecs = chunk_codec_list(*node.array, layout);
  if (form.sharding()) {
    const auto shard = choose_shard_shape(form.shards, node.array->shape, layout.chunk_shape(),
                                          node.array->type.size);
    if (!shard) return keep(array, shard.error().message, true);
    if (has_shard_shape(layout, *shard)) {
      return keep(array, "has shards of " + list_text(*shard) + " already", false);
    }
    if (already) {
      return keep(array,
                  "is sharded already, but not in shards of " + list_text(*shard) +
                      ", which zarrfs reshard can make",
                  true);
    }
    plan.action = ArrayPlan::Action::kShard;
    plan.reason =
        "shards of " + list_text(*shard) + ", chunks of " + list_text(layout.chunk_shape());
    plan.document["codecs"] = std::move(codecs);
    plan.document = sharded_document(std::move(plan.document), *shard, layout.chunk_shape());
  } else {
    plan.action = ArrayPlan::Action::kUnshard;
    plan.reason = "chunks of " + list_text(layout.chunk_shape());
    plan.document["chunk_grid"] = {{"name", "regular"},
                                   {"configuration", {{"chunk_shape", layout.chunk_shape()}}}};
    plan.document["codecs"] = std::move(codecs);
  }
  ZARRFS_CHECK(add_target(plan, array.path));
  return plan;
}

ArrayPlan plan_v2(const SourceArray& array, const Presentation& shown) {
  ArrayPlan plan;
  if (array.node.zarr_format == 2) {
    plan.reason = "is Zarr v2 already";
    return plan;
  }
  if (shown.hidden) {
    plan.reason = shown.reason;
    plan.left = true;
    return plan;
  }
  if (shown.rule == ByteRule::kRechunk) {
    plan.reason = "its chunks are of several sizes";
    plan.left = true;
    return plan;
  }
  plan.action = ArrayPlan::Action::kUnshard;
  plan.reason = "Zarr v2, chunks of " + list_text(shown.chunk_shape);
  plan.document = shown.document;
  plan.attributes = shown.attributes;
  return plan;
}

}  // namespace zarrfs::tools
