#include "tools/convert_plan.h"

#include <algorithm>

#include "core/zarr/shard_index.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kDefaultShardBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kVariableElementBytes = 16;

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
Json chunk_codecs(const ArrayMetadata& array, const Layout& layout) {
  if (!layout.sharded()) return array.document.at("codecs");
  Json list = Json::array();
  if (simply_sharded(layout) && array.codecs.size() == 1 &&
      array.codecs[0].configuration.contains("codecs")) {
    return array.codecs[0].configuration["codecs"];
  }
  for (const CodecChain::Step& step : layout.chunk_chain().steps()) {
    list.push_back(codec_json(step.spec));
  }
  return list;
}

Json named(const std::string& name, Json configuration) {
  return Json{{"name", name}, {"configuration", std::move(configuration)}};
}

Json regular_grid(std::span<const std::uint64_t> shape) {
  return named("regular",
               {{"chunk_shape", std::vector<std::uint64_t>(shape.begin(), shape.end())}});
}

Json sharding_codec(const std::vector<std::uint64_t>& chunk_shape, Json codecs) {
  return named("sharding_indexed",
               {{"chunk_shape", chunk_shape},
                {"codecs", std::move(codecs)},
                {"index_codecs",
                 Json::array({named("bytes", {{"endian", "little"}}), Json{{"name", "crc32c"}}})},
                {"index_location", "end"}});
}

// The document that the result begins with: keys of an array that was v2 take v3's own form.
Json base_document(const SourceArray& array) {
  Json document = array.node.node.array->document;
  if (array.node.zarr_format == 2) {
    document["chunk_key_encoding"] = named("default", {{"separator", "/"}});
  }
  return document;
}

std::string list_text(std::span<const std::uint64_t> numbers) {
  std::string text = "(";
  for (const std::uint64_t number : numbers) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(number);
  }
  return text + ")";
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

// Doubles the shard along the axis on which it has the fewest chunks, as long as it stays within
// `bytes` and the array has more chunks there.
std::vector<std::uint64_t> fit_bytes(std::uint64_t bytes, std::span<const std::uint64_t> shape,
                                     std::span<const std::uint64_t> chunk_shape,
                                     std::uint64_t element_bytes) {
  std::vector<std::uint64_t> chunks(shape.size(), 1);
  std::uint64_t size =
      checked_multiply(checked_product(chunk_shape).value_or(~std::uint64_t{0}), element_bytes)
          .value_or(~std::uint64_t{0});
  while (size <= bytes / 2) {
    std::size_t best = chunks.size();
    for (std::size_t axis = chunks.size(); axis-- > 0;) {
      if (chunks[axis] >= divide_up(shape[axis], chunk_shape[axis])) continue;
      if (best == chunks.size() || chunks[axis] < chunks[best]) best = axis;
    }
    if (best == chunks.size()) break;
    chunks[best] *= 2;
    size *= 2;
  }
  for (std::size_t axis = 0; axis < chunks.size(); ++axis) chunks[axis] *= chunk_shape[axis];
  return chunks;
}

}  // namespace

Json Form::json() const {
  return Json{{"kind", static_cast<int>(kind)},
              {"shard_shape", shard_shape},
              {"shard_chunks", shard_chunks},
              {"shard_bytes", shard_bytes}};
}

Result<std::vector<std::uint64_t>> choose_shard_shape(const Form& form,
                                                      std::span<const std::uint64_t> shape,
                                                      std::span<const std::uint64_t> chunk_shape,
                                                      std::uint32_t element_bytes) {
  if (form.shard_shape.empty() && form.shard_chunks.empty()) {
    return fit_bytes(form.shard_bytes == 0 ? kDefaultShardBytes : form.shard_bytes, shape,
                     chunk_shape, element_bytes == 0 ? kVariableElementBytes : element_bytes);
  }
  const bool in_elements = !form.shard_shape.empty();
  const auto& list = in_elements ? form.shard_shape : form.shard_chunks;
  if (list.size() != 1 && list.size() != shape.size()) {
    return fail(Fault::kInvalid, "its rank is " + std::to_string(shape.size()) + ", and " +
                                     (in_elements ? "--shard-shape" : "--shard-chunks") + " has " +
                                     std::to_string(list.size()) + " numbers");
  }
  std::vector<std::uint64_t> shard;
  std::uint64_t chunks = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::uint64_t number = list[list.size() == 1 ? 0 : axis];
    const std::uint64_t along = in_elements ? divide_up(number, chunk_shape[axis]) : number;
    const auto edge = checked_multiply(along, chunk_shape[axis]);
    const auto total = checked_multiply(chunks, along);
    if (along == 0 || !edge || !total || *total > kMaxIndexBytes / 16) {
      return fail(Fault::kInvalid, "shards of " + list_text(list) + " would hold " +
                                       (along == 0 ? "no" : "too many") + " chunks");
    }
    chunks = *total;
    shard.push_back(*edge);
  }
  return shard;
}

Result<ArrayPlan> plan_array(const SourceArray& array, const Form& form) {
  const Node& node = array.node.node;
  const Layout& layout = *node.layout;
  if (form.kind == Form::Kind::kSharded && layout.sharded()) {
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
  Json codecs = chunk_codecs(*node.array, layout);
  if (form.sharding()) {
    const auto shard =
        choose_shard_shape(form, node.array->shape, layout.chunk_shape(), node.array->type.size);
    if (!shard) return keep(array, shard.error().message, true);
    if (has_shard_shape(layout, *shard)) {
      return keep(array, "has shards of " + list_text(*shard) + " already", false);
    }
    plan.action = ArrayPlan::Action::kShard;
    plan.reason =
        "shards of " + list_text(*shard) + ", chunks of " + list_text(layout.chunk_shape());
    plan.document["chunk_grid"] = regular_grid(*shard);
    plan.document["codecs"] =
        Json::array({sharding_codec(layout.chunk_shape(), std::move(codecs))});
  } else {
    plan.action = ArrayPlan::Action::kUnshard;
    plan.reason = "chunks of " + list_text(layout.chunk_shape());
    plan.document["chunk_grid"] = regular_grid(layout.chunk_shape());
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
  plan.action = ArrayPlan::Action::kUnshard;
  plan.reason = "Zarr v2, chunks of " + list_text(shown.chunk_shape);
  plan.document = shown.document;
  plan.attributes = shown.attributes;
  return plan;
}

}  // namespace zarrfs
