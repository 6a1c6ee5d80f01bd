#include "core/chunks/shard_directory.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "core/base/request.h"
#include "core/metadata/chunk_key.h"
#include "core/store/store.h"
#include "core/zarr/open_hint.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMaxListings = 256;
constexpr std::size_t kMaxNumbersKept = std::size_t{1} << 20U;
constexpr std::int64_t kSettledNs = 2'000'000'000;
constexpr std::uint64_t kFewIndexes = 8;
constexpr std::uint64_t kManyIndexes = 256;
constexpr std::uint64_t kIndexBytes = std::uint64_t{16} << 20U;  // asked for together
constexpr std::chrono::seconds kExpectedFor{2};

/// Whether a directory changed so long ago that a later change must show in its time stamp.
bool settled(const FileIdentity& directory) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return directory.mtime_ns < now_ns - kSettledNs;
}

void sort_unique(std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}
}  // namespace

ShardListings::Numbers ShardListings::kept(const std::string& directory,
                                           const FileIdentity* identity) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(recent_.begin(), recent_.end(),
                                  [&](const Kept& one) { return one.directory == directory; });
  if (found == recent_.end()) return nullptr;
  if (identity != nullptr && found->identity != *identity) {
    numbers_kept_ -= found->numbers->size();
    recent_.erase(found);
    return nullptr;
  }
  recent_.splice(recent_.begin(), recent_, found);
  return found->numbers;
}

void ShardListings::keep(Kept listing) {
  const std::lock_guard lock(mutex_);
  numbers_kept_ += listing.numbers->size();
  recent_.push_front(std::move(listing));
  while (recent_.size() > 1 && (recent_.size() > kMaxListings || numbers_kept_ > kMaxNumbersKept)) {
    numbers_kept_ -= recent_.back().numbers->size();
    recent_.pop_back();
  }
}

Result<ShardListings::Numbers> ShardListings::list(
    Store& store, const std::string& directory,
    const std::function<std::optional<std::uint64_t>(const std::string&)>& parse) {
  if (immutable_) {
    if (auto numbers = kept(directory, nullptr)) return numbers;
  }
  ZARRFS_TRY(const auto status, store.status(directory));
  if (!status) return std::make_shared<const std::vector<std::uint64_t>>();
  if (!S_ISDIR(status->st_mode)) {
    return fail(Fault::kDamaged, directory + ": a file stands where a directory of shards belongs");
  }
  const FileIdentity identity = identity_by_ctime(*status);
  const bool tells_changes = store.traits().directories;
  if (auto numbers = tells_changes ? kept(directory, &identity) : nullptr) return numbers;

  ZARRFS_TRY(const auto entries, store.list(directory));
  std::vector<std::uint64_t> numbers;
  if (entries) {
    for (const Entry& entry : *entries) {
      if (const auto number = parse(entry.name)) numbers.push_back(*number);
    }
  }
  sort_unique(numbers);
  auto shared = std::make_shared<const std::vector<std::uint64_t>>(std::move(numbers));
  if (immutable_ || (tells_changes && settled(identity))) keep({directory, identity, shared});
  return shared;
}

ShardDirectory::ShardDirectory(std::shared_ptr<Store> store, std::string array_path,
                               ChunkKeyEncoding keys, std::vector<std::uint64_t> counts,
                               std::shared_ptr<ShardListings> listings)
    : store_(std::move(store)),
      array_path_(std::move(array_path)),
      keys_(keys),
      counts_(std::move(counts)),
      listings_(std::move(listings)) {}

std::string ShardDirectory::directory_of(std::span<const std::uint64_t> prefix) const {
  std::string path = array_path_;
  if (keys_.kind == ChunkKeyEncoding::Kind::kDefault) path = join_path(path, "c");
  for (const std::uint64_t coordinate : prefix) path = join_path(path, std::to_string(coordinate));
  return path;
}

Result<ShardListings::Numbers> ShardDirectory::next_coordinates(
    std::span<const std::uint64_t> prefix) {
  ZARRFS_CHECK(check_wanted());
  ZARRFS_CHECK(store_->list_below(array_path_, directory_of({})));
  // Whatever the array's shape is now: the listing may be kept longer.
  return listings_->list(*store_, directory_of(prefix), [](const std::string& name) {
    return parse_coordinate(name, std::numeric_limits<std::uint64_t>::max());
  });
}

Result<ShardListings::Numbers> ShardDirectory::flat_cells() {
  const ChunkNames names({keys_.kind, '.'}, counts_);
  return listings_->list(*store_, array_path_,
                         [&names](const std::string& name) -> std::optional<std::uint64_t> {
                           const auto part = names.in_array(name);
                           if (!part || part->directory) return std::nullopt;
                           return names.number_of(*part);
                         });
}

Result<std::vector<std::uint64_t>> ShardDirectory::along_next_axis(
    std::span<const AxisRange> fixed) {
  std::vector<std::uint64_t> found;
  if (nested()) {
    Coordinates prefix;
    ZARRFS_CHECK(collect(fixed, prefix, found));
  } else {
    ZARRFS_TRY(const auto cells, flat_cells());
    for (const std::uint64_t linear : *cells) {
      const Coordinates cell = coordinates_of(linear, counts_);
      const bool inside =
          std::equal(fixed.begin(), fixed.end(), cell.begin(),
                     [](AxisRange range, std::uint64_t at) { return range.holds(at); });
      if (inside) found.push_back(cell[fixed.size()]);
    }
  }
  sort_unique(found);
  return found;
}

Result<void> ShardDirectory::collect(std::span<const AxisRange> fixed, Coordinates& prefix,
                                     std::vector<std::uint64_t>& found) {
  ZARRFS_TRY(const auto next, next_coordinates(prefix));
  const auto end = std::lower_bound(next->begin(), next->end(), counts_[prefix.size()]);
  if (prefix.size() == fixed.size()) {
    found.insert(found.end(), next->begin(), end);
    return {};
  }
  const AxisRange range = fixed[prefix.size()];
  for (auto at = std::lower_bound(next->begin(), end, range.first); at != end && *at <= range.last;
       ++at) {
    prefix.push_back(*at);
    ZARRFS_CHECK(collect(fixed, prefix, found));
    prefix.pop_back();
  }
  return {};
}

Result<void> ShardDirectory::visit(std::uint64_t first,
                                   const std::function<bool(const Coordinates&)>& visit) {
  if (first >= checked_product(counts_).value_or(0)) return {};
  if (nested()) {
    Coordinates prefix;
    ZARRFS_CHECK(visit_below(prefix, coordinates_of(first, counts_), true, visit));
    return {};
  }
  ZARRFS_TRY(const auto cells, flat_cells());
  for (auto at = std::lower_bound(cells->begin(), cells->end(), first); at != cells->end(); ++at) {
    if (!visit(coordinates_of(*at, counts_))) return {};
  }
  return {};
}

Result<bool> ShardDirectory::visit_below(Coordinates& prefix, const Coordinates& start,
                                         bool at_start,
                                         const std::function<bool(const Coordinates&)>& visit) {
  ZARRFS_TRY(const auto next, next_coordinates(prefix));
  const std::size_t axis = prefix.size();
  const auto end = std::lower_bound(next->begin(), next->end(), counts_[axis]);
  auto at = next->begin();
  if (at_start) at = std::lower_bound(next->begin(), end, start[axis]);
  for (; at != end; ++at) {
    const bool still_at_start = at_start && *at == start[axis];
    prefix.push_back(*at);
    if (prefix.size() == counts_.size()) {
      if (!visit(prefix)) return false;
    } else {
      ZARRFS_TRY(const bool more, visit_below(prefix, start, still_at_start, visit));
      if (!more) return false;
    }
    prefix.pop_back();
  }
  return true;
}

void ShardDirectory::expect_indexes(std::uint64_t first, const Layout& layout) {
  if (store_->traits().near || !layout.sharded()) return;
  const OpenHint hint = hint_for(layout);
  if (hint.part == OpenHint::Part::kWhole || hint.bytes == 0) return;
  const std::uint64_t most = std::clamp<std::uint64_t>(kIndexBytes / hint.bytes, 1, kManyIndexes);
  const auto now = std::chrono::steady_clock::now();
  std::uint64_t count = kFewIndexes;
  {
    const std::lock_guard lock(mutex_);
    const bool recent = now - expected_.at < kExpectedFor;
    if (recent && expected_.first <= first && first < expected_.end) return;
    if (recent && first >= expected_.end) count = 2 * expected_.count;
    count = std::min(count, most);
    expected_ = {first, first + 1, count, now};
  }
  std::vector<std::string> paths;
  std::uint64_t last = first;
  const auto take = [&](const Coordinates& cell) {
    last = linear_of(cell, counts_);
    paths.push_back(join_path(array_path_, keys_.key(cell)));
    return paths.size() < count;
  };
  if (!visit(first, take)) return;  // who lists it meets the error
  store_->expect(paths, hint);
  const std::lock_guard lock(mutex_);
  expected_.end = std::max(expected_.end, last + 1);
}

}  // namespace zarrfs
