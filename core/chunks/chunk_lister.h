// Lists the chunks of an array that exist (or, where missing chunks are materialised in listings,
// all of them), from any position on. Positions cost no memory; a part of the grid without stored
// objects costs nothing.
//
// Order of a flat listing: shard by shard in C order, within a shard in the order of its index. Of
// a nested one: by coordinate. A shard that cannot be read is listed whole, so that its readers get
// its error. One thread at a time.
#pragma once

#include <functional>

#include "core/chunks/array_view.h"
#include "core/chunks/chunk_finder.h"
#include "core/chunks/rechunked_places.h"

namespace zarrfs {

class ChunkLister {
 public:
  /// `stored_only`: chunks that are only materialised are left out.
  ChunkLister(const ArrayView& array, ChunkFinder& finder, bool stored_only = false)
      : array_(array), finder_(finder), stored_only_(stored_only), rechunked_(array) {}

  /// Receives a part and the position after it; false ends the listing.
  using Sink = std::function<bool(const ChunkOrPrefix& part, std::uint64_t next)>;

  /// All chunks, from position `start` on.
  Result<void> list_flat(std::uint64_t start, const Sink& sink);
  /// What the prefix directory `prefix` holds: chunks or further prefix directories.
  Result<void> list_prefix(std::span<const std::uint64_t> prefix, std::uint64_t start,
                           const Sink& sink);
  /// Whether list_prefix names the prefix directory: a chunk is below it; where nothing is written,
  /// it may be that a shard only overlaps it.
  Result<bool> prefix_exists(std::span<const std::uint64_t> prefix);
  /// Whether a chunk is listed below the prefix that `counts`.
  using Counts = std::function<bool(const Coordinates& chunk)>;
  static bool counts_each(const Coordinates& /*chunk*/) { return true; }
  Result<bool> any_below(std::span<const std::uint64_t> prefix, const Counts& counts = counts_each);
  /// Told each cell, and whether it had unpublished writes when the visit began.
  using ShardVisitor = std::function<bool(const Coordinates& cell, bool written)>;
  /// Calls `visit` for each cell that is stored or has unpublished writes, in C order, from the
  /// `first`-th cell of the grid on, until it returns false.
  Result<void> visit_cells(std::uint64_t first, const ShardVisitor& visit);

 private:
  [[nodiscard]] bool all_listed() const {
    return !stored_only_ && array_.presentation.materialise == Materialise::kList;
  }
  /// Positions that each shard has in a flat listing.
  [[nodiscard]] Result<std::uint64_t> positions_per_shard() const;
  struct ListedShard {
    const Coordinates& cell;
    bool written = false;
    std::uint64_t first = 0;  ///< The first of its chunks that is wanted.
    std::uint64_t base = 0;   ///< Position of its first chunk in the listing.
  };
  void expect_indexes(const Coordinates& cell);
  Result<bool> is_listed(const Coordinates& chunk);
  bool list_shard(const ListedShard& listed, const Sink& sink);
  bool was_removed(const Coordinates& cell);
  /// The cells that hold the chunks below a prefix, along its axes.
  [[nodiscard]] std::vector<AxisRange> cells_of(std::span<const std::uint64_t> prefix) const;
  bool list_written_shard(const ListedShard& listed, const std::map<std::uint64_t, Draft>& drafts,
                          const Sink& sink);
  /// Every place of a shard that cannot be read, but for chunks that were removed since.
  bool list_whole_shard(const ListedShard& listed, bool has_drafts, const Sink& sink);
  Result<bool> walk(Coordinates& prefix, const Coordinates& start, bool at_start, const Sink& sink);
  /// Cells with unpublished writes, in C order.
  [[nodiscard]] std::vector<Coordinates> written_cells() const;
  static void add_written(const std::vector<Coordinates>& written, std::span<const AxisRange> fixed,
                          std::vector<std::uint64_t>& cells);
  /// Coordinates along the axis after `prefix` below which shards exist, as ranges in
  /// rising order.
  Result<std::vector<AxisRange>> existing_after(std::span<const std::uint64_t> prefix);

  const ArrayView& array_;
  ChunkFinder& finder_;
  const bool stored_only_;
  ShardInHand hand_;
  RechunkedPlaces rechunked_;
};

}  // namespace zarrfs
