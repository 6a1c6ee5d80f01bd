#include "core/zarr/shard_form.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/zarr/shard_index.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kDefaultShardBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kVariableElementBytes = 16;
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 18U;  // an index of 4 MiB

Json extension_point(const std::string& name, Json configuration) {
  return Json{{"name", name}, {"configuration", std::move(configuration)}};
}

Json regular_grid(std::span<const std::uint64_t> shape) {
  return extension_point("regular",
                         {{"chunk_shape", std::vector<std::uint64_t>(shape.begin(), shape.end())}});
}

Json sharding_codec(const std::vector<std::uint64_t>& chunk_shape, Json codecs) {
  return extension_point(
      "sharding_indexed",
      {{"chunk_shape", chunk_shape},
       {"codecs", std::move(codecs)},
       {"index_codecs",
        Json::array({extension_point("bytes", {{"endian", "little"}}), Json{{"name", "crc32c"}}})},
       {"index_location", "end"}});
}

// Doubles the shard along the axis on which it has the fewest chunks, as long as it stays within
// `bytes` and kMostChunks and the array has more chunks there.
std::vector<std::uint64_t> fit_bytes(std::uint64_t bytes, std::span<const std::uint64_t> shape,
                                     std::span<const std::uint64_t> chunk_shape,
                                     std::uint64_t element_bytes) {
  std::vector<std::uint64_t> chunks(shape.size(), 1);
  std::uint64_t size =
      checked_multiply(checked_product(chunk_shape).value_or(~std::uint64_t{0}), element_bytes)
          .value_or(~std::uint64_t{0});
  for (std::uint64_t total = 1; size <= bytes / 2 && total < kMostChunks; total *= 2) {
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

std::string list_text(std::span<const std::uint64_t> numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) {
    text += (text.empty() ? "" : "x") + std::to_string(number);
  }
  return text.empty() ? "scalar" : text;
}

Result<std::vector<std::uint64_t>> choose_shard_shape(const ShardForm& form,
                                                      std::span<const std::uint64_t> shape,
                                                      std::span<const std::uint64_t> chunk_shape,
                                                      std::uint32_t element_bytes) {
  if (form.shape.empty() && form.chunks.empty()) {
    return fit_bytes(form.bytes == 0 ? kDefaultShardBytes : form.bytes, shape, chunk_shape,
                     element_bytes == 0 ? kVariableElementBytes : element_bytes);
  }
  const bool in_elements = !form.shape.empty();
  const auto& list = in_elements ? form.shape : form.chunks;
  if (list.size() != 1 && list.size() != shape.size()) {
    return fail(Fault::kInvalid,
                "its rank is " + std::to_string(shape.size()) + ", and " +
                    (in_elements ? "the shard shape" : "the list of chunks of a shard") + " has " +
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

Json sharded_document(Json plain, std::span<const std::uint64_t> shard_shape,
                      const std::vector<std::uint64_t>& chunk_shape) {
  Json codecs = std::move(plain["codecs"]);
  plain["chunk_grid"] = regular_grid(shard_shape);
  plain["codecs"] = Json::array({sharding_codec(chunk_shape, std::move(codecs))});
  return plain;
}

}  // namespace zarrfs
