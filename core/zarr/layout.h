// How an array's inner chunks lie in its shards: the codec chain of an array taken apart
// into transposes before sharding, any number of nested shard levels, bytes to bytes codecs
// after a level, and the chain of the inner chunks. Source: ZEP 2 and Zarr v3 core.
//
// Words: a *shard* is one stored file; its *cell* is where it stands in the array's grid, as
// coordinates. A *chunk* is always an inner chunk, the smallest unit; of an array without sharding
// each is a shard of its own.
// Immutable; thread-safe. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metadata/metadata.h"
#include "core/zarr/shard_index.h"

namespace zarrfs {

/// One level of sharding. Levels are listed from the outermost (the file) inwards.
struct ShardLevel {
  std::vector<std::uint64_t> chunk_shape;  ///< Of the level's entries, in the order of its axes.
  /// Axis k of this level is array axis order[k]: the transposes before it, composed.
  std::vector<std::uint64_t> order;
  bool index_at_start = false;
  std::vector<CodecSpec> index_codecs;
  /// Bytes to bytes codecs around the whole shard of this level; empty nearly always.
  CodecChain around;
  /// Entries along each axis of the level. At level 0 of a rectilinear grid those of the longest
  /// edges; see shard_counts().
  std::vector<std::uint64_t> counts;
};

/// Where a chunk lies: the grid cell, and the entry at each level within it.
struct ChunkPlace {
  std::vector<std::uint64_t> cell;     ///< Of the shard: its coordinates in the grid.
  std::vector<std::uint64_t> entries;  ///< Linear entry number at each level; empty if not sharded.
  std::uint64_t number = 0;            ///< Of the chunk in its shard, over all levels, in C order.
  std::string path{};                  ///< Of the shard in the store; only ArrayReader knows it.
};

struct ShardingConfig;

/// The largest shard that is decoded as a whole, before and after decoding.
inline constexpr std::uint64_t kMaxWholeShard = std::uint64_t{4} << 30U;

class Layout {
 public:
  /// kUnsupported where the chain cannot be taken apart (e.g. delta before sharding) - the reason
  /// says which codec. kDamaged where shapes do not divide.
  static Result<Layout> make(const ArrayMetadata& array);

  [[nodiscard]] bool sharded() const { return !levels_.empty(); }
  [[nodiscard]] const std::vector<ShardLevel>& levels() const { return levels_; }
  /// Stored axis k is array axis order()[k]: the transposes before the outermost level, composed.
  /// Identity where there is none. Transposes between levels show in each level's `order`.
  [[nodiscard]] const std::vector<std::uint64_t>& order() const { return order_; }
  /// Bytes to bytes codecs around chunks of an array without sharding are part of chunk_chain(),
  /// not here.

  /// Whether all inner chunks have one shape and form a regular grid (always, but for rectilinear
  /// grids without sharding or whose edges the inner shape does not divide).
  [[nodiscard]] bool regular() const { return regular_; }
  /// Shape of an inner chunk in array axes. Only where regular().
  [[nodiscard]] const std::vector<std::uint64_t>& chunk_shape() const { return chunk_shape_; }
  /// Inner chunks along each array axis that hold an element of the array; the cells of the grid
  /// where it is not regular.
  [[nodiscard]] const std::vector<std::uint64_t>& chunk_counts() const { return chunk_counts_; }
  /// Inner chunks in all; at most 2^48 (more is kUnsupported).
  [[nodiscard]] std::uint64_t chunk_count() const { return chunk_count_; }
  /// The chain of one inner chunk: what decodes its bytes to elements *in array axes order*
  /// (transposes before sharding are put in front of the inner chain). Where not regular(): the
  /// chain of a chunk of the longest edges; see chain_of() for that of one cell.
  [[nodiscard]] const CodecChain& chunk_chain() const { return chunk_chain_; }
  /// The most bytes that a chunk of this array can be stored in.
  [[nodiscard]] std::uint64_t most_stored_bytes() const { return most_stored_bytes_; }
  [[nodiscard]] Result<CodecChain> chain_of(std::span<const std::uint64_t> cell) const;

  /// Chunk coordinates (array axes) -> where it lies. Coordinates are within chunk_counts().
  [[nodiscard]] ChunkPlace place_of(std::span<const std::uint64_t> chunk) const;
  /// The inverse for one entry of a cell: chunk coordinates in array axes, or nothing where that
  /// chunk holds no element of the array.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> chunk_at(const ChunkPlace& place) const;

  /// Entries along each stored axis of the outermost level, for the shard at `cell`.
  [[nodiscard]] std::vector<std::uint64_t> shard_counts(std::span<const std::uint64_t> cell) const;
  /// Format of the index of `level`. At level 0 of a rectilinear grid the index differs from shard
  /// to shard; see index_format_of().
  [[nodiscard]] const IndexFormat& index_format(std::size_t level) const;
  /// Format of the index of the outermost level, for the shard at `cell`. Only where sharded().
  [[nodiscard]] Result<IndexFormat> index_format_of(std::span<const std::uint64_t> cell) const;

  [[nodiscard]] const Grid& grid() const { return grid_; }

 private:
  Result<void> take_levels(std::vector<CodecSpec> specs);
  Result<void> add_level(const ShardingConfig& sharding, std::vector<std::uint64_t> order,
                         const std::vector<CodecSpec>& around);
  Result<void> count_chunks();
  Result<void> make_chunk_chain();

  Grid grid_;
  std::vector<std::uint64_t> order_;
  std::vector<ShardLevel> levels_;
  std::vector<IndexFormat> formats_;
  bool regular_ = true;
  std::vector<std::uint64_t> chunk_shape_;
  std::vector<std::uint64_t> chunk_counts_;
  std::uint64_t chunk_count_ = 0;
  std::uint64_t chunks_per_shard_ = 1;  ///< Of the largest shard.
  CodecChain chunk_chain_;
  std::uint64_t most_stored_bytes_ = kMaxWholeShard;
  std::vector<CodecSpec> chunk_specs_;
  DataType type_;
};

/// The largest number of chunks an array may have: what node numbers have room for.
inline constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 48U;
/// The largest number of nested shard levels; deeper ones are kUnsupported.
inline constexpr std::size_t kMaxShardLevels = 16;

}  // namespace zarrfs
