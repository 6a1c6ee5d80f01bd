#include "core/zarr/zvf.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/metadata/grid.h"

namespace zarrfs {
namespace {

// A list of one integer per axis; zeros where there is no such attribute.
std::vector<std::int64_t> origin_of(const Json& attributes, std::size_t rank) {
  std::vector<std::int64_t> origin(rank, 0);
  const auto found = attributes.find("chunk_grid_origin");
  if (found == attributes.end() || !found->is_array() || found->size() != rank) return origin;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Json& number = (*found)[axis];
    if (number.is_number_integer()) origin[axis] = number.get<std::int64_t>();
  }
  return origin;
}

std::string name_of(std::span<const std::uint64_t> chunk, const std::vector<std::int64_t>& origin) {
  std::string name;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    if (axis > 0) name += '.';
    const std::uint64_t number = chunk[axis] + static_cast<std::uint64_t>(origin[axis]);
    name += std::to_string(static_cast<std::int64_t>(number));
  }
  return name;
}

}  // namespace

std::string nonempty_name(const Json& attributes, std::span<const std::uint64_t> chunk) {
  return name_of(chunk, origin_of(attributes, chunk.size()));
}

bool payload_is_empty(ByteView elements) {
  constexpr std::size_t kWord = 4;
  return std::all_of(
             elements.begin() + static_cast<std::ptrdiff_t>(std::min(kWord, elements.size())),
             elements.end(), [](std::uint8_t byte) { return byte == 0; }) &&
         elements.size() >= kWord &&
         elements.size() == kWord + kWord * load_little<std::uint32_t>(elements);
}

Result<std::optional<Json>> true_nonempty_chunks(ArrayReader& reader,
                                                 const std::vector<std::uint64_t>& cells) {
  const Json& attributes = reader.metadata().attributes;
  const auto listed = attributes.find(kNonemptyChunks);
  if (listed == attributes.end() || !listed->is_array()) return std::nullopt;
  const auto counts = reader.layout().grid().counts();
  const auto origin = origin_of(attributes, counts.size());
  const bool variable = reader.metadata().type.variable_length();
  std::vector<std::string> names;
  for (const std::uint64_t linear : cells) {
    const auto cell = coordinates_of(linear, counts);
    std::vector<std::vector<std::uint64_t>> chunks;
    if (reader.layout().sharded()) {
      ZARRFS_CHECK(reader.visit_shard(cell, 0, [&](const ArrayReader::Visited& visited) {
        chunks.push_back(visited.chunk);
        return true;
      }));
    } else {
      chunks.push_back(cell);
    }
    for (const auto& chunk : chunks) {
      if (variable) {
        ZARRFS_TRY(const Bytes elements, reader.read_elements(chunk));
        if (payload_is_empty(elements)) continue;
      }
      names.push_back(name_of(chunk, origin));
    }
  }
  std::sort(names.begin(), names.end());
  return Json(names);
}

}  // namespace zarrfs
