// The shards that have drafts, by their path. Thread-safe; holds its lock for a moment only, but
// for while_clean.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/lock_order.h"
#include "core/log/successor.h"

namespace zarrfs {

using DirtyPointer = std::shared_ptr<DirtyShard>;
using ArrayPointer = std::shared_ptr<ArrayReader>;

/// The shard at `cell`, without drafts, and in no table.
DirtyPointer make_dirty_shard(const ArrayPointer& array, const std::vector<std::uint64_t>& cell);

class DirtyTable {
 public:
  using Cell = std::vector<std::uint64_t>;

  [[nodiscard]] bool clean() const { return count_.load() == 0; }
  [[nodiscard]] DirtyPointer find(const std::string& shard_path) const;
  /// Null, too, where another program has replaced the array since.
  [[nodiscard]] DirtyPointer find(const ArrayReader& array, const std::string& shard_path) const;
  /// Those of arrays at or below `prefix` ("" for all), by path.
  [[nodiscard]] std::vector<DirtyPointer> below(const std::string& prefix) const;
  /// Where the array has some, in C order.
  [[nodiscard]] std::vector<Cell> cells_of(const ArrayReader& array) const;

  DirtyPointer find_or_enter(const ArrayPointer& array, const Cell& cell);
  /// `next` stands where another of its path stood.
  void replace(const DirtyPointer& next);
  void leave(const DirtyPointer& shard);
  /// Where there are none: `act`, while nobody may enter one.
  Result<void> while_clean(const std::function<Result<void>()>& act);

 private:
  mutable Ranked<std::shared_mutex, LockRank::kDirty> mutex_;
  std::unordered_map<std::string, DirtyPointer> shards_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace zarrfs
