#include "core/zarr/layout.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/metadata/json_fields.h"
#include "core/metadata/sharding_config.h"

namespace zarrfs {
namespace {

using Sizes = std::vector<std::uint64_t>;

/// No encoding of a chunk is longer than this many times its elements, and a little: an entry that
/// claims more is damaged. Widening casts come to 16; compressors add a few bytes in a thousand.
constexpr std::uint64_t kMaxExpansion = 16;
constexpr std::uint64_t kMaxOverhead = std::uint64_t{1} << 20U;

/// A shape as messages write it: "[10, 20]".
std::string text_of(const Sizes& shape) { return dump_json(Json(shape)); }

bool is_identity(const Sizes& order) {
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] != k) return false;
  }
  return true;
}

/// A shape in array axes, in the order of a level's axes, and back.
Sizes to_level_axes(const Sizes& array, const Sizes& order) {
  Sizes level(array.size());
  for (std::size_t k = 0; k < order.size(); ++k) level[k] = array[order[k]];
  return level;
}
Sizes to_array_axes(const Sizes& level, const Sizes& order) {
  Sizes array(level.size());
  for (std::size_t k = 0; k < order.size(); ++k) array[order[k]] = level[k];
  return array;
}

bool is_known(const std::string& codec) {
  const auto names = codec_names();
  return std::find(names.begin(), names.end(), codec) != names.end();
}

/// `order` after the transposes in front of a sharding codec. Other codecs there leave no chunk's
/// bytes as they are in the shard: kUnsupported.
Result<Sizes> compose_transposes(std::span<const CodecSpec> specs, Sizes order) {
  for (const CodecSpec& spec : specs) {
    if (spec.name == "transpose") {
      ZARRFS_TRY(const Sizes axes, parse_transpose_order(spec, order.size()));
      order = to_level_axes(order, axes);
      continue;
    }
    if (!spec.must_understand && !is_known(spec.name)) continue;
    return fail(Fault::kUnsupported, "codecs: \"" + printable(spec.name) +
                                         "\" before sharding_indexed is not supported; only "
                                         "transpose is");
  }
  return order;
}

/// Entries of a shard of `shard` elements; kDamaged where chunks do not divide it.
Result<Sizes> divide_shape(const Sizes& shard, const Sizes& chunk) {
  Sizes counts(shard.size());
  for (std::size_t k = 0; k < shard.size(); ++k) {
    if (shard[k] % chunk[k] != 0) {
      return fail(Fault::kDamaged, "sharding_indexed: chunk_shape " + text_of(chunk) +
                                       " does not divide the shard " + text_of(shard));
    }
    counts[k] = shard[k] / chunk[k];
  }
  return counts;
}

Sizes longest_edges(const Grid& grid) {
  Sizes edges;
  for (const AxisGrid& axis : grid.axes) edges.push_back(axis.largest_edge());
  return edges;
}

/// Every size that a chunk of `shape` has fits 63 bits.
Result<void> check_chunk_bytes(const Sizes& shape, const DataType& type) {
  const auto elements = checked_product(shape);
  const auto bytes =
      elements ? checked_multiply(*elements, std::max<std::uint32_t>(type.size, 1)) : std::nullopt;
  if (bytes && *bytes <= kMaxSize) return {};
  return fail(Fault::kUnsupported,
              "a chunk of " + text_of(shape) + " elements has more than 2^63 - 1 bytes");
}

}  // namespace

Result<Layout> Layout::make(const ArrayMetadata& array) {
  Layout layout;
  layout.grid_ = array.grid;
  layout.type_ = array.type;
  layout.order_.resize(array.shape.size());
  std::iota(layout.order_.begin(), layout.order_.end(), 0);
  ZARRFS_CHECK(layout.take_levels(array.codecs));
  ZARRFS_CHECK(layout.count_chunks());
  ZARRFS_CHECK(layout.make_chunk_chain());
  return layout;
}

/// Takes the chain apart from the outermost level inwards; what remains is the inner chain.
Result<void> Layout::take_levels(std::vector<CodecSpec> specs) {
  Sizes order = order_;
  while (const auto at = find_sharding(specs)) {
    if (levels_.size() == kMaxShardLevels) {
      return fail(Fault::kUnsupported, "sharding_indexed is nested deeper than " +
                                           std::to_string(kMaxShardLevels) + " levels");
    }
    ZARRFS_TRY(order, compose_transposes(std::span(specs).first(*at), std::move(order)));
    ZARRFS_TRY(ShardingConfig sharding, parse_sharding(specs[*at]));
    const auto behind = specs.begin() + static_cast<std::ptrdiff_t>(*at) + 1;
    ZARRFS_CHECK(add_level(sharding, order, std::vector<CodecSpec>(behind, specs.end())));
    specs = std::move(sharding.codecs);
  }
  if (!levels_.empty()) order_ = levels_.front().order;
  if (!is_identity(order)) specs.insert(specs.begin(), transpose_spec(order));
  chunk_specs_ = std::move(specs);
  return {};
}

Result<void> Layout::add_level(const ShardingConfig& sharding, Sizes order,
                               const std::vector<CodecSpec>& around) {
  const Sizes& chunk = sharding.chunk_shape;
  if (chunk.size() != order.size()) {
    return fail(Fault::kDamaged, "sharding_indexed: chunk_shape " + text_of(chunk) + " has not " +
                                     std::to_string(order.size()) + " axes, as the array");
  }
  const bool outermost = levels_.empty();
  Sizes shard = longest_edges(grid_);
  if (!outermost) shard = to_array_axes(levels_.back().chunk_shape, levels_.back().order);
  shard = to_level_axes(shard, order);
  ShardLevel level;
  ZARRFS_TRY(level.counts, divide_shape(shard, chunk));
  for (std::size_t k = 0; outermost && k < order.size(); ++k) {
    if (!grid_.axes[order[k]].divisible_by(chunk[k])) {
      return fail(Fault::kDamaged, "sharding_indexed: chunk_shape " + text_of(chunk) +
                                       " does not divide every edge of grid axis " +
                                       std::to_string(order[k]));
    }
  }
  ZARRFS_TRY(IndexFormat format,
             IndexFormat::make(sharding.index_codecs, level.counts, sharding.index_at_start));
  ZARRFS_TRY(level.around, CodecChain::make_bytes_only(around));
  const auto chunks = checked_multiply(chunks_per_shard_, format.entries());
  if (!chunks || *chunks > kMaxChunks) {
    return fail(Fault::kUnsupported, "a shard has more than 2^48 chunks");
  }
  chunks_per_shard_ = *chunks;
  level.chunk_shape = chunk;
  level.order = std::move(order);
  level.index_at_start = sharding.index_at_start;
  level.index_codecs = sharding.index_codecs;
  levels_.push_back(std::move(level));
  formats_.push_back(std::move(format));
  return {};
}

Result<void> Layout::count_chunks() {
  regular_ = sharded() || grid_.regular();
  if (!regular_) {
    chunk_counts_ = grid_.counts();
  } else {
    chunk_shape_ = sharded() ? to_array_axes(levels_.back().chunk_shape, levels_.back().order)
                             : longest_edges(grid_);
    for (std::size_t axis = 0; axis < grid_.axes.size(); ++axis) {
      chunk_counts_.push_back(divide_up(grid_.axes[axis].extent(), chunk_shape_[axis]));
    }
  }
  const auto count = cell_count(chunk_counts_);
  if (!count || *count > kMaxChunks) {
    return fail(Fault::kUnsupported, "the array has " + text_of(chunk_counts_) +
                                         " chunks along its axes, more than 2^48 in all");
  }
  chunk_count_ = *count;
  return {};
}

Result<void> Layout::make_chunk_chain() {
  const Sizes shape = regular_ ? chunk_shape_ : longest_edges(grid_);
  ZARRFS_CHECK(check_chunk_bytes(shape, type_));
  ZARRFS_TRY(chunk_chain_, CodecChain::make(chunk_specs_, Elements{type_, shape}));
  if (!regular_ || type_.variable_length()) return {};
  const auto expanded = checked_multiply(chunk_chain_.decoded().bytes(), kMaxExpansion);
  const auto most = expanded ? checked_add(*expanded, kMaxOverhead) : std::nullopt;
  most_stored_bytes_ = most.value_or(~std::uint64_t{0});
  return {};
}

Result<CodecChain> Layout::chain_of(std::span<const std::uint64_t> cell) const {
  if (regular_) return chunk_chain_;
  Sizes shape(cell.size());
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    shape[axis] = grid_.axes[axis].edge(cell[axis]);
  }
  return CodecChain::make(chunk_specs_, Elements{type_, shape});
}

ChunkPlace Layout::place_of(std::span<const std::uint64_t> chunk) const {
  ChunkPlace place;
  place.cell.assign(chunk.begin(), chunk.end());
  if (!sharded()) return place;
  Sizes rest(chunk.size());  // from the start of the shard of a level, in array axes
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    const std::uint64_t first = chunk[axis] * chunk_shape_[axis];
    place.cell[axis] = grid_.axes[axis].find(first);
    rest[axis] = first - grid_.axes[axis].begin(place.cell[axis]);
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const ShardLevel& level = levels_[i];
    Sizes entry(chunk.size());
    for (std::size_t k = 0; k < entry.size(); ++k) {
      std::uint64_t& offset = rest[level.order[k]];
      entry[k] = offset / level.chunk_shape[k];
      offset %= level.chunk_shape[k];
    }
    const Sizes counts = i == 0 ? shard_counts(place.cell) : level.counts;
    place.entries.push_back(linear_of(entry, counts));
    place.number = place.number * checked_product(counts).value_or(0) + place.entries.back();
  }
  return place;
}

std::optional<std::vector<std::uint64_t>> Layout::chunk_at(const ChunkPlace& place) const {
  const std::size_t rank = grid_.axes.size();
  if (place.cell.size() != rank || place.entries.size() != levels_.size()) return std::nullopt;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (place.cell[axis] >= grid_.axes[axis].count()) return std::nullopt;
  }
  if (!sharded()) return place.cell;
  Sizes first(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    first[axis] = grid_.axes[axis].begin(place.cell[axis]);
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const ShardLevel& level = levels_[i];
    const Sizes counts = i == 0 ? shard_counts(place.cell) : level.counts;
    if (place.entries[i] >= cell_count(counts)) return std::nullopt;
    const Sizes entry = coordinates_of(place.entries[i], counts);
    // Below the end of the cell, which is less than 2^64: the extent and one edge.
    for (std::size_t k = 0; k < rank; ++k) {
      first[level.order[k]] += entry[k] * level.chunk_shape[k];
    }
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (first[axis] >= grid_.axes[axis].extent()) return std::nullopt;
    first[axis] /= chunk_shape_[axis];
  }
  return first;
}

std::vector<std::uint64_t> Layout::shard_counts(std::span<const std::uint64_t> cell) const {
  if (!sharded()) return Sizes(cell.size(), 1);
  const ShardLevel& level = levels_.front();
  Sizes counts(cell.size());
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const std::uint64_t axis = level.order[k];
    counts[k] = grid_.axes[axis].edge(cell[axis]) / level.chunk_shape[k];
  }
  return counts;
}

const IndexFormat& Layout::index_format(std::size_t level) const { return formats_[level]; }

Result<IndexFormat> Layout::index_format_of(std::span<const std::uint64_t> cell) const {
  Sizes counts = shard_counts(cell);
  if (counts == levels_.front().counts) return formats_.front();
  return IndexFormat::make(levels_.front().index_codecs, std::move(counts),
                           levels_.front().index_at_start);
}

}  // namespace zarrfs
