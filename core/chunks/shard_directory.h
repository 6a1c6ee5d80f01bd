// Which shards (of arrays without sharding, chunks) of an array exist: found by
// listing the store's directories, so that an empty part of a large grid costs nothing.
//
// Memory is bounded by the names in one directory of the store; recent listings are kept for a
// while. Thread-safe. Its lock is not held across I/O.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/chunks/chunk_names.h"
#include "core/metadata/metadata.h"
#include "core/store/store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// Coordinates first to last along one axis, both included.
struct AxisRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool holds(std::uint64_t coordinate) const {
    return first <= coordinate && coordinate <= last;
  }
};

/// Recent listings of directories that hold shards, shared by all arrays of a mount.
class ShardListings {
 public:
  /// With `immutable`, a listing is good for ever.
  explicit ShardListings(bool immutable) : immutable_(immutable) {}

  using Numbers = std::shared_ptr<const std::vector<std::uint64_t>>;
  /// The names in `directory` for which `parse` gives a number, as sorted numbers. Empty where
  /// there is no such directory. One directory is always listed with the same `parse`.
  Result<Numbers> list(
      Store& store, const std::string& directory,
      const std::function<std::optional<std::uint64_t>(const std::string&)>& parse);

 private:
  struct Kept {
    std::string directory;
    FileIdentity identity;
    Numbers numbers;
  };
  Numbers kept(const std::string& directory, const FileIdentity* identity);
  void keep(Kept listing);

  const bool immutable_;
  TableMutex mutex_;
  std::list<Kept> recent_;  // most recent first
  std::size_t numbers_kept_ = 0;
};

class ShardDirectory {
 public:
  ShardDirectory(std::shared_ptr<Store> store, std::string array_path, ChunkKeyEncoding keys,
                 std::vector<std::uint64_t> counts, std::shared_ptr<ShardListings> listings);

  /// C-order number of a cell of the grid.
  [[nodiscard]] std::uint64_t number_of(std::span<const std::uint64_t> cell) const {
    return linear_of(cell, counts_);
  }
  /// Coordinates along the axis after `fixed` at which a shard (or, below the store's own
  /// directories, a directory for such) exists whose first coordinates lie in `fixed`. Sorted.
  /// fixed.size() < rank.
  Result<std::vector<std::uint64_t>> along_next_axis(std::span<const AxisRange> fixed);

  /// Calls `visit` for each existing cell, in C order, from the `first`-th cell of the grid on,
  /// until it returns false.
  Result<void> visit(std::uint64_t first, const std::function<bool(const Coordinates&)>& visit);
  /// Advice: the indexes of the shards from the `first`-th cell on are going to be read, in order.
  /// Asks a server for several at once, and for more each time that it goes on.
  void expect_indexes(std::uint64_t first, const Layout& layout);

 private:
  [[nodiscard]] bool nested() const { return keys_.separator == '/' && !counts_.empty(); }
  /// The directory whose names are the coordinates that follow `prefix`.
  [[nodiscard]] std::string directory_of(std::span<const std::uint64_t> prefix) const;
  /// Those beyond the grid too.
  Result<ShardListings::Numbers> next_coordinates(std::span<const std::uint64_t> prefix);
  /// Linear numbers of all cells, where all lie in one directory.
  Result<ShardListings::Numbers> flat_cells();
  Result<void> collect(std::span<const AxisRange> fixed, Coordinates& prefix,
                       std::vector<std::uint64_t>& found);
  Result<bool> visit_below(Coordinates& prefix, const Coordinates& start, bool at_start,
                           const std::function<bool(const Coordinates&)>& visit);

  std::shared_ptr<Store> store_;
  std::string array_path_;
  ChunkKeyEncoding keys_;
  std::vector<std::uint64_t> counts_;
  std::shared_ptr<ShardListings> listings_;
  struct Expected {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::uint64_t count = 0;
    std::chrono::steady_clock::time_point at;
  };
  TableMutex mutex_;
  Expected expected_;
};

}  // namespace zarrfs
