#include "core/write/dirty_table.h"

#include <algorithm>
#include <mutex>

#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

/// Chunks of the shard at `cell` that hold an element of the array.
std::uint64_t expected_chunks(const ArrayReader& array, std::span<const std::uint64_t> cell) {
  const Layout& layout = array.layout();
  if (!layout.sharded() || !layout.regular()) return 1;
  std::uint64_t expected = 1;
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    const AxisGrid& grid = layout.grid().axes[axis];
    const std::uint64_t edge = layout.chunk_shape()[axis];
    const std::uint64_t begin = grid.begin(cell[axis]) / edge;
    const std::uint64_t places = grid.edge(cell[axis]) / edge;
    const std::uint64_t count = layout.chunk_counts()[axis];
    expected *= begin >= count ? 0 : std::min(places, count - begin);
  }
  return expected;
}

}  // namespace

DirtyPointer make_dirty_shard(const ArrayPointer& array, const std::vector<std::uint64_t>& cell) {
  auto shard = std::make_shared<DirtyShard>();
  shard->array_path = array->path();
  shard->cell = cell;
  shard->shard_path = array->shard_path(cell);
  shard->array = array;
  shard->form = array->metadata().form;
  shard->set_successor(new_successor_path(shard->shard_path));
  const HeldLock lock(shard->state_mutex);
  shard->dirty_since = shard->changed = Clock::now();
  shard->expected = expected_chunks(*array, cell);
  return shard;
}

DirtyPointer DirtyTable::find(const std::string& shard_path) const {
  if (clean()) return nullptr;
  const std::shared_lock lock(mutex_);
  const auto found = shards_.find(shard_path);
  return found == shards_.end() ? nullptr : found->second;
}

DirtyPointer DirtyTable::find(const ArrayReader& array, const std::string& shard_path) const {
  DirtyPointer found = find(shard_path);
  return found != nullptr && found->form == array.metadata().form ? found : nullptr;
}

std::vector<DirtyPointer> DirtyTable::below(const std::string& prefix) const {
  std::vector<DirtyPointer> pointers;
  const std::shared_lock lock(mutex_);
  for (const auto& [path, shard] : shards_) {
    if (is_at_or_below(shard->array_path, prefix)) pointers.push_back(shard);
  }
  std::sort(pointers.begin(), pointers.end(), [](const DirtyPointer& a, const DirtyPointer& b) {
    return a->shard_path < b->shard_path;
  });
  return pointers;
}

std::vector<DirtyTable::Cell> DirtyTable::cells_of(const ArrayReader& array) const {
  std::vector<Cell> cells;
  if (clean()) return cells;
  const std::shared_lock lock(mutex_);
  for (const auto& [path, shard] : shards_) {
    if (shard->array_path == array.path() && shard->form == array.metadata().form) {
      cells.push_back(shard->cell);
    }
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

DirtyPointer DirtyTable::find_or_enter(const ArrayPointer& array, const Cell& cell) {
  const std::unique_lock lock(mutex_);
  DirtyPointer& shard = shards_[array->shard_path(cell)];
  if (!shard) {
    shard = make_dirty_shard(array, cell);
    ++count_;
  }
  return shard;
}

void DirtyTable::replace(const DirtyPointer& next) {
  const std::unique_lock lock(mutex_);
  shards_[next->shard_path] = next;
}

void DirtyTable::leave(const DirtyPointer& shard) {
  const std::unique_lock lock(mutex_);
  if (const auto found = shards_.find(shard->shard_path);
      found != shards_.end() && found->second == shard) {
    shards_.erase(found);
    --count_;
  }
}

Result<void> DirtyTable::while_clean(const std::function<Result<void>()>& act) {
  const std::unique_lock lock(mutex_);
  return shards_.empty() ? act() : Result<void>{};
}

}  // namespace zarrfs
