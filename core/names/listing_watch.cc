#include "core/names/listing_watch.h"

#include <utility>
#include <vector>

#include "core/chunks/rechunk.h"
#include "core/names/documents.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostArrays = 1024;
constexpr std::size_t kMostDirectories = 4096;  // of an array
constexpr std::uint64_t kMostCells = 4096;      // that a listing is made of

/// Whether it lists chunks, and no directories of chunks.
bool lists_chunks(const Directory& directory) {
  if (directory.state->kind != NodeState::Kind::kArray) return false;
  const ArrayView& array = directory.state->shown;
  if (array.presentation.rule == ByteRule::kRechunk) return false;
  return directory.prefix ? directory.prefix->size() + 1 == array.names.rank()
                          : !array.names.nested();
}

/// Differs within an array.
std::uint64_t place_of(const Directory& directory) {
  const ChunkNames& names = directory.state->shown.names;
  return directory.prefix ? names.number_of({true, *directory.prefix}) : names.nodes();
}

}  // namespace

ListingWatch::OwnChange::~OwnChange() {
  {
    const std::lock_guard lock(listings_.mutex_);
    listings_.arrays_.clear();
  }
  --listings_.own_changes_;
}

/// Events are in the queue before the call that made the change returns, and are read while
/// `taking_`: so that is looked at last.
bool ListingWatch::all_is_told() const {
  return watch_ != nullptr && own_changes_ == 0 &&
         Clock::now().time_since_epoch().count() >= rest_ && !watch_->has_news() && !taking_;
}

/// With the mutex held.
ListingWatch::Array& ListingWatch::array_of(const NodeState& array) {
  if (arrays_.size() >= kMostArrays && !arrays_.contains(array.path)) arrays_.clear();
  Array& known = arrays_[array.path];
  if (known.serial == 0 || known.generation != array.generation) {
    known = {++serial_, array.generation, {}};
  }
  return known;
}

std::optional<std::uint64_t> ListingWatch::serial_of(const Directory& directory,
                                                     const std::function<bool()>& is_sound) {
  if (!all_is_told() || !lists_chunks(directory)) return std::nullopt;
  const std::uint64_t number = place_of(directory);
  std::uint64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    const Array& known = array_of(*directory.state);
    serial = known.serial;
    if (known.watched.contains(number)) return serial;
  }
  if (!watch_all_of(directory) || !is_sound()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto known = arrays_.find(directory.state->path);
  if (known == arrays_.end() || known->second.serial != serial) return std::nullopt;
  if (known->second.watched.size() >= kMostDirectories) return std::nullopt;
  known->second.watched.insert(number);
  return serial;
}

bool ListingWatch::watch_all_of(const Directory& directory) {
  // The rest of the watch is for names that are lent.
  if (watch_->half_full()) return false;
  const std::string& array = directory.state->path;
  return watch_->watch(array) && watch_->holds_plain(join_path(array, kStoredDocument)) &&
         watch_cells(directory.state->shown, directory.prefix.value_or(Coordinates()));
}

bool ListingWatch::watch_cells(const ArrayView& array, const Coordinates& prefix) {
  const std::vector<std::uint64_t> counts = array.reader->layout().grid().counts();
  std::vector<AxisRange> cells;
  std::uint64_t number = 1;
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    if (counts[axis] == 0) return false;
    cells.push_back(axis < prefix.size() ? array.cells_of(axis, prefix[axis])
                                         : AxisRange{0, counts[axis] - 1});
    const auto all = checked_multiply(number, cells.back().last - cells.back().first + 1);
    if (!all || *all > kMostCells) return false;
    number = *all;
  }
  const bool sharded = array.reader->layout().sharded();
  std::optional<std::string> watched;
  bool all_watched = true;
  visit_box(cells, [&](const Coordinates& cell) {
    const std::string shard = array.reader->shard_path(cell);
    if (std::string home = parent_path(shard); home != watched) {
      all_watched = watch_->watch_what_is_there(home);
      watched = std::move(home);
    }
    // What is in a shard may change by another name of it.
    all_watched = all_watched && (!sharded || watch_->holds_plain_or_nothing(shard));
    return all_watched;
  });
  return all_watched;
}

void ListingWatch::doubt(const std::string& array) {
  const std::lock_guard lock(mutex_);
  arrays_.erase(array);
}

void ListingWatch::changed(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::erase_if(arrays_, [&](const auto& one) {
    return lies_in(one.first, path) || lies_in(path, one.first);
  });
}

void ListingWatch::rest(std::chrono::seconds time) {
  rest_ = (Clock::now() + time).time_since_epoch().count();
}

}  // namespace zarrfs
