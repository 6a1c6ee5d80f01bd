#include "core/metadata/sharding_config.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/metadata/json_fields.h"

namespace zarrfs {
namespace {

Result<std::vector<CodecSpec>> parse_member_list(const Json& configuration,
                                                 const std::string& name) {
  const std::string field = "sharding_indexed: " + name;
  const Json* list = find_member(configuration, name);
  if (list == nullptr) return fail(Fault::kDamaged, field + " is missing");
  return parse_codec_list(*list, field);
}

}  // namespace

Result<std::vector<CodecSpec>> parse_codec_list(const Json& list, const std::string& field) {
  if (!list.is_array() || list.empty()) {
    return fail(Fault::kDamaged,
                field + " is " + brief(list) + ", not a list of one codec or more");
  }
  std::vector<CodecSpec> specs;
  specs.reserve(list.size());
  for (const Json& spelled : list) {
    auto spec = parse_codec_spec(spelled);
    if (!spec) {
      return fail(spec.error().fault,
                  field + "[" + std::to_string(specs.size()) + "]: " + spec.error().message);
    }
    specs.push_back(std::move(*spec));
  }
  return specs;
}

Result<ShardingConfig> parse_sharding(const CodecSpec& spec) {
  ShardingConfig sharding;
  const Json* shape = find_member(spec.configuration, "chunk_shape");
  if (shape == nullptr) return fail(Fault::kDamaged, "sharding_indexed: chunk_shape is missing");
  ZARRFS_TRY(sharding.chunk_shape, parse_sizes(*shape, "sharding_indexed: chunk_shape"));
  for (std::uint64_t& size : sharding.chunk_shape) size = std::max<std::uint64_t>(size, 1);
  ZARRFS_TRY(sharding.codecs, parse_member_list(spec.configuration, "codecs"));
  ZARRFS_TRY(sharding.index_codecs, parse_member_list(spec.configuration, "index_codecs"));
  const Json* location = find_member(spec.configuration, "index_location");
  if (location != nullptr && *location != "start" && *location != "end") {
    return fail(Fault::kDamaged, "sharding_indexed: index_location is " + brief(*location) +
                                     ", neither \"start\" nor \"end\"");
  }
  sharding.index_at_start = location != nullptr && *location == "start";
  return sharding;
}

std::optional<std::size_t> find_sharding(const std::vector<CodecSpec>& specs) {
  const auto found = std::find_if(specs.begin(), specs.end(), [](const CodecSpec& spec) {
    return spec.name == "sharding_indexed";
  });
  if (found == specs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - specs.begin());
}

Result<std::vector<std::uint64_t>> parse_transpose_order(const CodecSpec& spec, std::size_t rank) {
  std::vector<std::uint64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  const Json* spelled = find_member(spec.configuration, "order");
  if (spelled == nullptr) return fail(Fault::kDamaged, "transpose: order is missing");
  // Early drafts of the specification had these two letters.
  if (*spelled == "C") return order;
  if (*spelled == "F") {
    std::reverse(order.begin(), order.end());
    return order;
  }
  ZARRFS_TRY(auto axes, parse_sizes(*spelled, "transpose: order"));
  if (!std::is_permutation(axes.begin(), axes.end(), order.begin(), order.end())) {
    return fail(Fault::kDamaged, "transpose: order is " + brief(*spelled) +
                                     ", not a permutation of " + std::to_string(rank) + " axes");
  }
  return axes;
}

CodecSpec transpose_spec(const std::vector<std::uint64_t>& order) {
  CodecSpec spec;
  spec.name = "transpose";
  spec.configuration["order"] = order;
  return spec;
}

}  // namespace zarrfs
