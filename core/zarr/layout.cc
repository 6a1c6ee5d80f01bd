#include "core/zarr/layout.h"

#include <algorithm>
#include <numeric>

namespace zarrfs {
namespace {

constexpr std::size_t kMaxLevels = 16;
using Shape = std::vector<std::uint64_t>;

std::string text(const Shape& shape) { return dump_json(Json(shape)); }

/// A transpose's order, for any spelling: axis k of the output is axis order[k] of the input.
Result<Shape> transpose_order(const Json& configuration, std::size_t rank) {
  Shape order(rank);
  std::iota(order.begin(), order.end(), 0);
  const Json spelled = configuration.value("order", Json());
  if (spelled == "C") return order;
  if (spelled == "F") {
    std::reverse(order.begin(), order.end());
    return order;
  }
  Shape seen(rank, 0);
  if (!spelled.is_array() || spelled.size() != rank) {
    return fail(Fault::kDamaged, "codec transpose: order " + dump_json(spelled) +
                                     " is no permutation of " + std::to_string(rank) + " axes");
  }
  for (std::size_t k = 0; k < rank; ++k) {
    if (!spelled[k].is_number_unsigned() || spelled[k].get<std::uint64_t>() >= rank ||
        seen[spelled[k].get<std::uint64_t>()]++ != 0) {
      return fail(Fault::kDamaged,
                  "codec transpose: order " + dump_json(spelled) + " is no permutation");
    }
    order[k] = spelled[k].get<std::uint64_t>();
  }
  return order;
}

bool is_sharding(const CodecSpec& spec) { return spec.name == "sharding_indexed"; }

Result<Shape> parse_chunk_shape(const Json& configuration, std::size_t rank) {
  const Json spelled = configuration.value("chunk_shape", Json());
  if (!spelled.is_array() || spelled.size() != rank) {
    return fail(Fault::kDamaged, "codec sharding_indexed: chunk_shape " + dump_json(spelled) +
                                     " does not have one entry for each of the " +
                                     std::to_string(rank) + " dimensions");
  }
  Shape shape;
  for (const Json& edge : spelled) {
    if (!edge.is_number_unsigned() || edge.get<std::uint64_t>() >> 63U != 0) {
      return fail(Fault::kDamaged, "codec sharding_indexed: chunk_shape " + dump_json(spelled));
    }
    shape.push_back(std::max<std::uint64_t>(edge.get<std::uint64_t>(), 1));
  }
  return shape;
}

Result<std::vector<CodecSpec>> parse_codec_list(const Json& configuration, const char* member) {
  const Json spelled = configuration.value(member, Json());
  if (!spelled.is_array() || spelled.empty()) {
    return fail(Fault::kDamaged,
                std::string("codec sharding_indexed: ") + member + " is " + dump_json(spelled));
  }
  std::vector<CodecSpec> specs;
  for (const Json& one : spelled) {
    ZARRFS_TRY(CodecSpec spec, parse_codec_spec(one));
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// One codec chain of the array taken apart at its sharding codec.
struct Parts {
  Shape order;  // the transposes before, composed
  const CodecSpec* sharding = nullptr;
  std::vector<CodecSpec> around;  // bytes to bytes, after sharding
};

Result<Parts> take_apart(const std::vector<CodecSpec>& specs, std::size_t rank) {
  Parts parts;
  parts.order.resize(rank);
  std::iota(parts.order.begin(), parts.order.end(), 0);
  const auto sharding = std::find_if(specs.begin(), specs.end(), is_sharding);
  if (sharding == specs.end()) return parts;
  for (auto spec = specs.begin(); spec != sharding; ++spec) {
    if (spec->name != "transpose") {
      const auto known = codec_names();
      if (!spec->must_understand &&
          std::find(known.begin(), known.end(), spec->name) == known.end())
        continue;
      return fail(Fault::kUnsupported,
                  "codec " + printable(spec->name) + " before sharding_indexed");
    }
    ZARRFS_TRY(const Shape order, transpose_order(spec->configuration, rank));
    Shape composed(rank);
    for (std::size_t k = 0; k < rank; ++k) composed[k] = parts.order[order[k]];
    parts.order = composed;
  }
  parts.sharding = &*sharding;
  parts.around.assign(sharding + 1, specs.end());
  return parts;
}

bool identity(const Shape& order) {
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] != k) return false;
  }
  return true;
}

CodecSpec transpose_of(const Shape& order) { return {"transpose", Json{{"order", order}}, true}; }

Shape permuted(const Shape& in, const Shape& order) {
  Shape out(in.size());
  for (std::size_t k = 0; k < in.size(); ++k) out[k] = in[order[k]];
  return out;
}

}  // namespace

Result<Layout> Layout::make(const ArrayMetadata& array) {
  Layout layout;
  layout.grid_ = array.grid;
  layout.type_ = array.type;
  const std::size_t rank = array.shape.size();
  layout.order_.resize(rank);
  std::iota(layout.order_.begin(), layout.order_.end(), 0);

  // Outer objects in the order of stored axes; nothing where edges differ.
  std::optional<Shape> object;
  if (array.grid.regular()) {
    object.emplace();
    for (const AxisGrid& axis : array.grid.axes) object->push_back(*axis.regular_edge());
  }
  std::vector<CodecSpec> specs = array.codecs;
  for (;;) {
    ZARRFS_TRY(const Parts parts, take_apart(specs, rank));
    if (parts.sharding == nullptr) break;
    if (layout.levels_.size() == kMaxLevels)
      return fail(Fault::kUnsupported, "sharding nested more than 16 times");
    layout.order_ = permuted(layout.order_, parts.order);
    if (object) object = permuted(*object, parts.order);
    // Levels above are kept in the axes of the level they belong to; a transpose between levels is
    // rare enough to refuse.
    if (!layout.levels_.empty() && !identity(parts.order)) {
      return fail(Fault::kUnsupported, "codec transpose between nested sharding_indexed codecs");
    }
    ShardLevel level;
    const Json& configuration = parts.sharding->configuration;
    ZARRFS_TRY(level.chunk_shape, parse_chunk_shape(configuration, rank));
    for (std::size_t k = 0; k < rank; ++k) {
      const bool divides =
          layout.levels_.empty()
              ? array.grid.axes[layout.order_[k]].divisible_by(level.chunk_shape[k])
              : (*object)[k] % level.chunk_shape[k] == 0;
      if (!divides) {
        return fail(Fault::kDamaged, "codec sharding_indexed: the inner chunk shape " +
                                         text(level.chunk_shape) + " does not divide the shard" +
                                         (object ? " shape " + text(*object) : "s"));
      }
    }
    const Json location = configuration.value("index_location", Json("end"));
    if (location != "end" && location != "start") {
      return fail(Fault::kDamaged,
                  "codec sharding_indexed: index_location is " + dump_json(location));
    }
    level.index_at_start = location == "start";
    ZARRFS_TRY(level.index_codecs, parse_codec_list(configuration, "index_codecs"));
    ZARRFS_TRY(level.around, CodecChain::make_bytes_only(parts.around));
    if (object) {
      for (std::size_t k = 0; k < rank; ++k)
        level.counts.push_back((*object)[k] / level.chunk_shape[k]);
    } else {  // rectilinear: the largest shard stands for all
      for (std::size_t k = 0; k < rank; ++k) {
        std::uint64_t most = 1;
        for (const EdgeRun& run : array.grid.axes[layout.order_[k]].runs())
          most = std::max(most, run.size);
        level.counts.push_back(most / level.chunk_shape[k]);
      }
    }
    ZARRFS_TRY(const IndexFormat format,
               IndexFormat::make(level.index_codecs, level.counts, level.index_at_start));
    if (format.encoded_size() > kMaxIndexBytes) {
      return fail(Fault::kUnsupported, "a shard index of " + std::to_string(format.encoded_size()) +
                                           " bytes (at most " + std::to_string(kMaxIndexBytes) +
                                           ")");
    }
    layout.formats_.push_back(format);
    ZARRFS_TRY(specs, parse_codec_list(configuration, "codecs"));
    object = level.chunk_shape;
    layout.levels_.push_back(std::move(level));
  }

  layout.chunk_specs_ = std::move(specs);
  if (layout.sharded() && !identity(layout.order_)) {
    layout.chunk_specs_.insert(layout.chunk_specs_.begin(), transpose_of(layout.order_));
  }
  layout.regular_ = object.has_value();
  if (layout.regular_) {
    layout.chunk_shape_.resize(rank);
    for (std::size_t k = 0; k < rank; ++k) {
      layout.chunk_shape_[layout.sharded() ? layout.order_[k] : k] = (*object)[k];
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
      layout.chunk_counts_.push_back(divide_up(array.shape[axis], layout.chunk_shape_[axis]));
    }
    if (!checked_product(layout.chunk_shape_)) {
      return fail(Fault::kDamaged, "the chunk shape " + text(layout.chunk_shape_) +
                                       " has more elements than 64 bits count");
    }
    ZARRFS_TRY(layout.chunk_chain_,
               CodecChain::make(layout.chunk_specs_, {array.type, layout.chunk_shape_}));
  } else {
    layout.chunk_counts_ = array.grid.counts();
  }
  const auto count = checked_product(layout.chunk_counts_);
  if (!count || *count > kMaxChunks) {
    return fail(Fault::kUnsupported,
                "an array of more than 2^48 chunks (" + text(layout.chunk_counts_) + ")");
  }
  layout.chunk_count_ = *count;
  return layout;
}

Result<CodecChain> Layout::chain_of(std::span<const std::uint64_t> cell) const {
  if (regular_) return chunk_chain_;
  Shape shape;
  for (std::size_t axis = 0; axis < cell.size(); ++axis)
    shape.push_back(grid_.axes[axis].edge(cell[axis]));
  return CodecChain::make(chunk_specs_, {type_, std::move(shape)});
}

std::vector<std::uint64_t> Layout::shard_counts(std::span<const std::uint64_t> cell) const {
  Shape counts;
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const std::size_t axis = order_[k];
    counts.push_back(grid_.axes[axis].edge(cell[axis]) / levels_[0].chunk_shape[k]);
  }
  return counts;
}

const IndexFormat& Layout::index_format(std::size_t level) const { return formats_[level]; }

Result<IndexFormat> Layout::index_format_of(std::span<const std::uint64_t> cell) const {
  if (grid_.regular()) return formats_[0];
  return IndexFormat::make(levels_[0].index_codecs, shard_counts(cell), levels_[0].index_at_start);
}

std::uint64_t Layout::chunks_per_shard() const {
  std::uint64_t chunks = 1;
  for (const ShardLevel& level : levels_) chunks *= checked_product(level.counts).value_or(0);
  return chunks;
}

ChunkPlace Layout::place_of(std::span<const std::uint64_t> chunk) const {
  ChunkPlace place;
  if (!sharded()) {
    place.cell.assign(chunk.begin(), chunk.end());
    return place;
  }
  const std::size_t rank = chunk.size();
  Shape within(rank);  // first element of the chunk in its shard, stored axes
  place.cell.resize(rank);
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t axis = order_[k];
    const std::uint64_t position = chunk[axis] * chunk_shape_[axis];
    place.cell[axis] = grid_.axes[axis].find(position);
    within[k] = position - grid_.axes[axis].begin(place.cell[axis]);
  }
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const Shape counts = level == 0 ? shard_counts(place.cell) : levels_[level].counts;
    std::uint64_t entry = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      const std::uint64_t edge = levels_[level].chunk_shape[k];
      entry = entry * counts[k] + within[k] / edge;
      within[k] %= edge;
    }
    place.entries.push_back(entry);
  }
  return place;
}

std::optional<std::vector<std::uint64_t>> Layout::chunk_at(const ChunkPlace& place) const {
  if (!sharded()) return place.cell;
  const std::size_t rank = order_.size();
  Shape within(rank, 0);
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const Shape counts = level == 0 ? shard_counts(place.cell) : levels_[level].counts;
    const Shape entry = coordinates_of(place.entries[level], counts);
    for (std::size_t k = 0; k < rank; ++k) within[k] += entry[k] * levels_[level].chunk_shape[k];
  }
  Shape chunk(rank);
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t axis = order_[k];
    chunk[axis] = (grid_.axes[axis].begin(place.cell[axis]) + within[k]) / chunk_shape_[axis];
    if (chunk[axis] >= chunk_counts_[axis]) return std::nullopt;
  }
  return chunk;
}

}  // namespace zarrfs
