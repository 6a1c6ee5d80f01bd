#include "core/chunks/far_ahead.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/chunks/joined_ranges.h"
#include "core/store/store.h"
#include "core/write/shard_builder.h"
#include "core/zarr/open_hint.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostArrays = 256;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 17U;
constexpr std::uint64_t kOfLate = 1024;  // chunks of all arrays

}  // namespace

/// The caller holds the lock.
FarAhead::Reading& FarAhead::reading_of(const std::string& path) {
  if (readings_.size() >= kMostArrays && !readings_.contains(path)) {
    readings_.erase(std::min_element(
        readings_.begin(), readings_.end(),
        [](const auto& one, const auto& other) { return one.second.last < other.second.last; }));
  }
  return readings_.try_emplace(path, Reading{FarWalk(window_)}).first->second;
}

/// The arrays that are read share it. The caller holds the lock.
std::uint64_t FarAhead::share_of(std::uint64_t room) const {
  const auto is_read = [&](const auto& one) { return chunks_ - one.second.last < kOfLate; };
  const auto arrays = std::count_if(readings_.begin(), readings_.end(), is_read);
  return room / std::max<std::uint64_t>(1, static_cast<std::uint64_t>(arrays));
}

void FarAhead::open_next(const ArrayReader& reader, const FarPlan& plan) {
  if (plan.cells.empty()) return;
  const auto& counts = reader.layout().grid().counts();
  std::vector<std::string> paths;
  for (const std::uint64_t cell : plan.cells) {
    paths.push_back(reader.shard_path(coordinates_of(cell, counts)));
  }
  OpenHint hint = hint_for(reader.layout());
  if (plan.whole > 0 && hint.part != OpenHint::Part::kWhole) {
    hint = {OpenHint::Part::kStart, plan.whole};
  }
  reader.store().open_ahead(paths, hint);
}

void FarAhead::fetch_alike(ArrayReader& reader, const Coordinates& cell, const FarPlan& plan,
                           const File& file) {
  std::vector<ByteRange> ranges;
  auto next = plan.entries.begin();
  const auto take = [&](const ArrayReader::Visited& one) {
    while (next != plan.entries.end() && *next < one.number) ++next;
    if (next == plan.entries.end()) return false;
    if (*next == one.number && one.damage.empty()) {
      ranges.push_back(one.part ? range_within(one.part->range, one.range) : one.range);
    }
    return true;
  };
  if (!reader.visit_shard(cell, plan.entries.front(), take)) return;
  for (const ByteRange& range : join_ranges(std::move(ranges), plan.most)) {
    file.fetch(range);
  }
}

/// `file`: where the chunks of the shard lie.
void FarAhead::fetch_swept(ArrayReader& reader, const FarAsk& ask, const File& file) {
  FarFound found;
  found.size = file.size();
  std::uint64_t bytes = 0;
  const auto take = [&](const ArrayReader::Visited& one) {
    if (one.number >= ask.skip.size()) return false;
    if (ask.skip[one.number] || !one.damage.empty() || !ask.box.has(one.chunk)) return true;
    const ByteRange range = one.part ? range_within(one.part->range, one.range) : one.range;
    bytes += range.length;
    found.all = found.entries.empty() || bytes <= ask.most;
    if (found.all) found.entries.emplace_back(one.number, range);
    return found.all;
  };
  ShardInHand hand;
  if (ask.file != nullptr) hand = {ask.path, ask.file};
  const auto cell = coordinates_of(ask.cell, reader.layout().grid().counts());
  if (!reader.visit_shard(cell, 0, take, &hand)) return;
  std::vector<ByteRange> ranges;
  {
    const std::lock_guard lock(mutex_);
    ranges = reading_of(reader.path()).walk.take(ask, found);
  }
  for (const ByteRange& range : join_ranges(std::move(ranges), window_)) file.fetch(range);
}

void FarAhead::fetch_opened(ArrayReader& reader, FarAsk ask) {
  ask.path = reader.shard_path(coordinates_of(ask.cell, reader.layout().grid().counts()));
  ask.file = reader.store().open_seen(ask.path);
  if (ask.file == nullptr) return;
  ask.inode = ask.file->identity().inode;
  fetch_swept(reader, ask, *ask.file);
}

void FarAhead::opened(ArrayReader& reader, const ChunkPlace& place, const ChunkBytes& bytes) {
  const auto made_of = bytes.file->place();  // where the chunk is made of other bytes
  const File& file = made_of ? *made_of->whole : *bytes.file;
  const ByteRange range = made_of ? made_of->range : bytes.range;
  const std::uint64_t size = file.size();
  if (window_ == 0 || range.length == 0 || !lies_within(range, size)) return;
  const Layout& layout = reader.layout();
  const auto& cells = layout.grid().counts();
  // The file of a volume has the chunks of many cells: only its bytes tell them apart.
  const bool shared = !layout.sharded() && range.length < size;
  const std::uint64_t count = shared ? 0 : count_of(layout, place.cell);
  const std::uint64_t entries = count <= kMostEntries ? count : 0;  // else too many to note each
  FarChunk chunk{file.identity().inode,
                 linear_of(place.cell, cells),
                 {},
                 place.cell,
                 place.path,
                 {},
                 place.number,
                 entries,
                 size,
                 range};
  chunk.at = layout.chunk_at(place).value_or(place.cell);
  if (!made_of && bytes.file->path() == place.path) chunk.file = bytes.file;
  FarPlan made;
  {
    const std::lock_guard lock(mutex_);
    Reading& reading = reading_of(reader.path());
    reading.last = ++chunks_;
    made = reading.walk.plan(chunk, layout, share_of(reader.store().room_ahead()));
  }
  if (made.whole == 0) open_next(reader, made);  // what comes next waits for their indexes
  if (made.range) file.fetch(*made.range);
  if (!made.entries.empty()) fetch_alike(reader, place.cell, made, file);
  for (const FarAsk& ask : made.asks) {
    fetch_swept(reader, ask, ask.inode == chunk.inode ? file : *ask.file);
  }
  if (made.whole > 0) open_next(reader, made);
  for (FarAsk& ask : made.next) fetch_opened(reader, std::move(ask));
}

}  // namespace zarrfs
