#include "core/chunks/far_walk.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace zarrfs {
namespace {

constexpr std::size_t kMostShards = 64;
constexpr std::size_t kMostBlocks = 4096;
constexpr std::uint64_t kAsked = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t kSmallestBlock = std::uint64_t{256} << 10U;
constexpr std::uint64_t kChunksOfBlock = 16;
// Bytes opened one behind the other before what lies behind them is asked for.
constexpr std::uint64_t kRun = std::uint64_t{1} << 20U;
// Shards that are compared with, and how many chunks two must have in common.
constexpr std::size_t kLast = 8;
constexpr std::uint64_t kAlike = 2;
// Bytes that may be asked for wrongly where it went well.
constexpr std::uint64_t kMostCredit = std::uint64_t{64} << 20U;
// Cells opened one after the other before the next ones are opened in advance; how many of those;
// and so many more that so many bytes are under way or wait to be read.
constexpr std::uint64_t kCellsInOrder = 3;
constexpr std::uint64_t kCellsAhead = 4;
constexpr std::uint64_t kMostCellsAhead = 32;
constexpr std::uint64_t kUnread = std::uint64_t{32} << 20U;
constexpr std::uint64_t kCellsOfBox = 16;
// How many times what a sweep has met it has on its way or unread at most; entries of shards that
// are looked at for one chunk.
constexpr std::uint64_t kTimes = 3;
constexpr std::uint64_t kLookedAt = 4096;
constexpr std::uint64_t kLookEach = 16;  // chunks
// So many chunks in a row that had been opened before are another reading, more than readers have
// that open each chunk twice.
constexpr std::uint64_t kAnotherReading = 32;

/// Of the shard at `cell`.
ChunkBox chunks_of(const Coordinates& cell, const Layout& layout) {
  ChunkBox box{cell, cell};
  if (!layout.sharded()) return box;
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    const AxisGrid& grid = layout.grid().axes[axis];
    const std::uint64_t chunk = layout.chunk_shape()[axis];
    box.first[axis] = grid.begin(cell[axis]) / chunk;
    box.last[axis] =
        std::min(box.first[axis] + grid.edge(cell[axis]) / chunk, layout.chunk_counts()[axis]) - 1;
  }
  return box;
}

/// What both have.
std::optional<ChunkBox> common(const ChunkBox& one, const ChunkBox& other) {
  ChunkBox box = one;
  for (std::size_t axis = 0; axis < box.first.size(); ++axis) {
    box.first[axis] = std::max(one.first[axis], other.first[axis]);
    box.last[axis] = std::min(one.last[axis], other.last[axis]);
    if (box.first[axis] > box.last[axis]) return std::nullopt;
  }
  return box;
}

ChunkBox cells_around(const ChunkBox& box, const Layout& layout) {
  return {layout.place_of(box.first).cell, layout.place_of(box.last).cell};
}

/// Whether a box that goes on along `axis` has all chunks of its shards, from some on.
bool takes_whole_shards(const ChunkBox& box, std::size_t axis, const Layout& layout) {
  const ChunkBox first = chunks_of(layout.place_of(box.first).cell, layout);
  const ChunkBox last = chunks_of(layout.place_of(box.last).cell, layout);
  for (std::size_t other = 0; other < box.first.size(); ++other) {
    if (other == axis) continue;
    if (box.first[other] > first.first[other] || box.last[other] < last.last[other]) return false;
  }
  return true;
}

}  // namespace

bool FarWalk::Shard::is_asked(std::uint64_t at) const {
  const auto found = blocks.find(at / block);
  return found != blocks.end() && found->second == kAsked;
}

void FarWalk::Shard::mark_asked(ByteRange range) {
  const std::uint64_t end_block = divide_up(range.offset + range.length, block);
  for (std::uint64_t at = range.offset / block; at < end_block; ++at) blocks[at] = kAsked;
}

FarWalk::Shard& FarWalk::shard_of(std::uint64_t inode, std::uint64_t entries) {
  const auto known = shards_.find(inode);
  if (known != shards_.end()) return known->second;
  if (shards_.size() >= kMostShards) {
    std::erase_if(shards_, [&](const auto& one) {
      return one.first != fullest_ &&
             std::find(last_.begin(), last_.end(), one.first) == last_.end();
    });
  }
  Shard& shard = shards_[inode];
  shard.opened.resize(entries);
  shard.asked.resize(entries);
  return shard;
}

/// What was read before may be asked for again: what is still kept costs no request. How well
/// asking in advance went stays.
void FarWalk::begin_anew() {
  shards_.clear();
  last_.clear();
  fullest_ = most_count_ = 0;
  cells_.clear();
  front_.reset();
  again_ = 0;
  sweep_ = Sweep();
  box_.reset();
  cells_of_box_ = {};
  ahead_.clear();
}

/// A shard is read for the first time.
void FarWalk::enter(const FarChunk& chunk) {
  Shard& shard = shards_[chunk.inode];
  shard.entered = true;
  shard.cell = chunk.cell;
  shard.path = chunk.path;
  shard.file = chunk.file;
  shard.block = std::max(kSmallestBlock, std::bit_ceil(chunk.range.length) * kChunksOfBlock);
  std::erase(ahead_, chunk.cell);
  const bool comes = box_ && cells_of_box_.has(chunk.cell_at) && (!front_ || chunk.cell > *front_);
  bool in_order = true;
  for (std::uint64_t back = 1; back <= kCellsInOrder; ++back) {
    in_order = in_order && chunk.cell >= back &&
               std::find(cells_.begin(), cells_.end(), chunk.cell - back) != cells_.end();
  }
  cells_.push_front(chunk.cell);
  if (cells_.size() > kMostCellsAhead) cells_.pop_back();
  const bool close = front_ && chunk.cell + kLast >= *front_ && chunk.cell <= *front_ + kLast;
  if (comes || in_order) {
    front_ = close ? std::max(*front_, chunk.cell) : chunk.cell;
    if (!close && !comes) ahead_.clear();
  } else if (!close) {
    front_.reset();
  }
}

void FarWalk::note(Shard& shard, const FarChunk& chunk, bool came) {
  ++chunks_;
  longest_ = std::max(longest_, chunk.range.length);
  if (chunk.number < chunk.entries) {
    shard.opened[chunk.number] = true;
    ++shard.count;
  }
  if (shard.count > most_count_) {
    most_count_ = shard.count;
    fullest_ = chunk.inode;
  }
  if (came) {
    ++hits_;
    credit_ = std::min(kMostCredit, credit_ + 2 * chunk.range.length);
    shard.unread -= std::min(shard.unread, chunk.range.length);
  }
  const std::uint64_t gap = chunk.range.offset - std::min(chunk.range.offset, shard.end);
  if (chunk.range.offset < shard.end || gap > chunk.range.length) {
    shard.begin = chunk.range.offset;
    shard.read = 0;
    shard.asked_to = 0;
  }
  shard.read += chunk.range.length;
  shard.end = chunk.range.offset + chunk.range.length;
  if (shard.blocks.size() >= kMostBlocks) shard.blocks.clear();
  std::uint64_t& block = shard.blocks[chunk.range.offset / shard.block];
  if (block != kAsked) block += chunk.range.length;
}

/// Of the shards read last, and the one that most was read of: the one of which most was read, this
/// chunk too.
const FarWalk::Shard* FarWalk::model_for(const Shard& shard, const FarChunk& chunk) const {
  const Shard* model = nullptr;
  const auto look_at = [&](std::uint64_t inode) {
    const auto found = shards_.find(inode);
    if (inode == chunk.inode || found == shards_.end()) return;
    const Shard& one = found->second;
    if (one.opened.size() != shard.opened.size() || !one.opened[chunk.number]) return;
    if (one.count > std::max(shard.count, model == nullptr ? 0 : model->count)) model = &one;
  };
  for (const std::uint64_t inode : last_) look_at(inode);
  look_at(fullest_);
  return model;
}

/// What the model has opened, where this one was read like that so far.
void FarWalk::plan_alike(Shard& shard, const FarChunk& chunk, FarPlan& plan) {
  const Shard* const model = model_for(shard, chunk);
  if (model == nullptr) return;
  std::uint64_t common = 0;
  for (std::uint64_t i = 0; i < chunk.entries; ++i) {
    if (shard.opened[i] && model->opened[i]) ++common;
  }
  const bool trusted = hits_ >= 2 * kAlike && 2 * hits_ >= guessed_;
  if (common * 4 < shard.count * 3 || (common < kAlike && !trusted)) return;
  const std::uint64_t most = std::min(window_, credit_) / chunk.range.length;
  for (std::uint64_t i = 1; i < chunk.entries && plan.entries.size() < most; ++i) {
    const std::uint64_t entry = (chunk.number + i) % chunk.entries;
    if (!model->opened[entry] || shard.asked[entry] || shard.opened[entry]) continue;
    shard.asked[entry] = true;
    plan.entries.push_back(entry);
  }
  if (plan.entries.empty()) return;
  const std::uint64_t bytes = plan.entries.size() * chunk.range.length;
  guessed_ += plan.entries.size();
  credit_ -= bytes;
  shard.unread = std::min(shard.unread + bytes, chunk.size);
  plan.entries.push_back(chunk.number);
  std::sort(plan.entries.begin(), plan.entries.end());
}

std::optional<ByteRange> FarWalk::block_around(Shard& shard, const FarChunk& chunk) const {
  if (chunk.range.length >= shard.block / 2) return std::nullopt;
  std::optional<ByteRange> found;
  std::uint64_t rest = 0;
  for (std::uint64_t size = shard.block; size <= window_; size *= 4) {
    const std::uint64_t begin = chunk.range.offset / size * size;
    const std::uint64_t end = std::min(begin + size, chunk.size);
    std::uint64_t opened = 0;
    for (std::uint64_t at = begin; at < end; at += shard.block) {
      const auto block = shard.blocks.find(at / shard.block);
      if (block == shard.blocks.end()) continue;
      opened += block->second == kAsked ? shard.block / 4 : block->second;
    }
    if (opened * 4 > end - begin) {
      found = ByteRange{begin, end - begin};
      rest = found->length - std::min(opened, found->length);
    }
    if (begin == 0 && end == chunk.size) break;
  }
  if (!found) return std::nullopt;
  shard.mark_asked(*found);
  shard.unread = std::min(shard.unread + rest, chunk.size);
  return found;
}

std::optional<ByteRange> FarWalk::behind(Shard& shard, const FarChunk& chunk) const {
  const std::uint64_t run = shard.end - shard.begin;
  if (run <= kRun || run <= chunk.range.length) return std::nullopt;
  if (shard.read < run / 4 * 3) return std::nullopt;  // every second chunk, or the like
  const std::uint64_t window = std::min(window_, run);
  if (shard.end + window / 2 <= shard.asked_to) return std::nullopt;  // more is under way
  const std::uint64_t begin = std::max(shard.end, shard.asked_to);
  const std::uint64_t stop = std::min(shard.end + window, chunk.size);
  if (begin >= stop) return std::nullopt;
  shard.asked_to = stop;
  shard.mark_asked({begin, stop - begin});
  return ByteRange{begin, stop - begin};
}

std::uint64_t FarWalk::unread() const {
  std::uint64_t bytes = 0;
  for (const auto& [inode, shard] : shards_) bytes += shard.unread;
  return bytes;
}

/// Whether its shard was read, or asked for.
bool FarWalk::is_known(std::uint64_t cell) const {
  return std::any_of(shards_.begin(), shards_.end(),
                     [&](const auto& one) { return one.second.cell == cell; });
}

/// The cells behind the front: few, or, where all of the shards is read, so many that the reader
/// does not come to wait for them.
void FarWalk::plan_next(const Shard& shard, const FarChunk& chunk, const Layout& layout,
                        FarPlan& plan) {
  if (!front_) return;
  const Coordinates& cells = layout.grid().counts();
  const bool well = credit_ >= kMostCredit / 4;
  const bool all_read =
      one_by_one(chunk) || (well && chunk.entries > 0 && most_count_ * 2 > chunk.entries);
  std::uint64_t waiting = unread() + ahead_.size() * chunk.size;
  const auto comes_whole = [&](const Coordinates& cell) {
    if (chunk.size > window_) return false;
    const ChunkBox all = chunks_of(cell, layout);
    return all_read || (box_ && box_->has(all.first) && box_->has(all.last));
  };
  const ChunkBox to_come = cells_to_come(chunk, cells);
  Coordinates at = coordinates_of(*front_, cells);
  if (!to_come.has(at)) return;
  for (std::uint64_t steps = 1; steps <= kMostCellsAhead && to_come.step(at); ++steps) {
    const std::uint64_t cell = linear_of(at, cells);
    if (is_known(cell) || std::find(ahead_.begin(), ahead_.end(), cell) != ahead_.end()) continue;
    const bool whole = comes_whole(at);
    if (!plan.cells.empty() && whole != (plan.whole > 0)) return;
    const bool near = steps <= (box_ && left_shard_ && !whole ? kCellsOfBox : kCellsAhead);
    const std::uint64_t most = box_ ? budget_for(at, layout) : std::min(kUnread, room_);
    const bool enough = waiting + chunk.size > most;
    if (whole ? enough && (!near || (shard.count > 1 && plan.cells.empty())) : !near) return;
    waiting += chunk.size;
    plan.whole = whole ? chunk.size + chunk.size / 8 : 0;
    plan.cells.push_back(cell);
    ahead_.push_back(cell);
    if (ahead_.size() > kMostCellsAhead) ahead_.pop_front();
  }
}

/// Whether the shard that was read before this one was left when all of it had been read, and is
/// the one before it in the grid: of shards of one chunk each is read as a whole, in whatever
/// order.
bool FarWalk::one_by_one(const FarChunk& chunk) const {
  const bool follows =
      chunk.cell > 0 && std::find(cells_.begin(), cells_.end(), chunk.cell - 1) != cells_.end();
  if (!follows || chunk.entries == 1) return false;
  const auto before = last_.size() > 1 ? shards_.find(last_[1]) : shards_.end();
  return before != shards_.end() && before->second.count >= chunk.entries;
}

/// All, or those that the sweep comes to.
ChunkBox FarWalk::cells_to_come(const FarChunk& chunk, const Coordinates& cells) const {
  if (box_ && !one_by_one(chunk)) return cells_of_box_;
  ChunkBox all{Coordinates(cells.size(), 0), cells};
  for (std::uint64_t& last : all.last) --last;
  return all;
}

/// What was asked for in vain keeps nothing else waiting.
void FarWalk::forget_unread() {
  for (auto& [inode, shard] : shards_) shard.unread = 0;
}

/// Bytes that may be on their way or unread: more, the longer the sweep goes on.
std::uint64_t FarWalk::budget() const {
  const std::uint64_t met = std::max(sweep_.met(), kAlike);
  return std::min(room_, checked_multiply(met, kTimes * longest_).value_or(room_));
}

/// The same for a shard: where the sweep would enter a layer of shards that it has not seen, it may
/// end as well, and what is fetched in vain is at most half of what was read, or a window.
std::uint64_t FarWalk::budget_for(const Coordinates& cell, const Layout& layout) const {
  const Coordinates& seen = sweep_.seen().last;
  const std::size_t axis = sweep_.axis();
  if (axis >= cell.size() || cell[axis] <= layout.place_of(seen).cell[axis]) return budget();
  const auto half = checked_multiply(sweep_.met() / 2, longest_);
  return std::min(budget(), std::max(half.value_or(room_), window_));
}

/// So many layers of the box that there is room for them: what lies deep in the shards at hand does
/// not keep the next ones waiting. They end with a shard if there is room for that, so that its
/// chunks come together.
ChunkBox FarWalk::within_reach(ChunkBox box, std::size_t axis, const Layout& layout) {
  const std::uint64_t front = std::max(sweep_.seen().last[axis], box.first[axis]);
  const std::uint64_t last = box.last[axis];
  const std::uint64_t layers = last - box.first[axis] + 1;
  const auto bytes = checked_multiply(divide_up(box.chunks(), layers), longest_);
  const std::uint64_t most = bytes ? room_ / *bytes : 0;
  const std::uint64_t good =
      std::max<std::uint64_t>(bytes ? std::min(most / 2, budget() / *bytes) : 0, 1);
  if (reach_ < front || reach_ - front < good) {
    reach_ = std::min(last, front + 2 * good - 1);
    Coordinates at = box.first;
    at[axis] = reach_;
    const ChunkBox shard = chunks_of(layout.place_of(at).cell, layout);
    if (shard.last[axis] - front < most + most / 2) {
      reach_ = std::min(last, shard.last[axis]);
    } else if (shard.first[axis] > front + good) {
      reach_ = shard.first[axis] - 1;
    }
  }
  box.last[axis] = std::min(last, std::max(reach_, front));
  return box;
}

FarAsk FarWalk::ask_of(std::uint64_t inode, const Shard& shard, std::uint64_t most) const {
  FarAsk ask{inode, shard.cell, shard.path, shard.file, *box_, shard.opened, std::nullopt, most};
  for (std::size_t i = 0; i < ask.skip.size(); ++i) ask.skip[i] = ask.skip[i] || shard.asked[i];
  return ask;
}

/// Bytes, about.
std::uint64_t FarWalk::wanted_of(const FarAsk& ask, const Layout& layout) const {
  const Coordinates cell = coordinates_of(ask.cell, layout.grid().counts());
  const auto both = common(chunks_of(cell, layout), ask.box);
  const std::uint64_t chunks = both ? both->chunks() : 0;
  const auto left = static_cast<std::uint64_t>(std::count(ask.skip.begin(), ask.skip.end(), false));
  return checked_multiply(std::min(chunks, left), longest_).value_or(window_);
}

/// The chunk's own shard does not wait for what is unread. The others are asked for as long as
/// there is room for all that is wanted of them: in parts they would take more requests.
void FarWalk::plan_sweep(const FarChunk& chunk, bool came, const Layout& layout,
                         FarPlan& plan) const {
  const std::uint64_t most = budget();
  if (most < chunk.range.length) return;
  const Shard& shard = shards_.at(chunk.inode);
  if (!came && shard.done != box_) {
    FarAsk ask = ask_of(chunk.inode, shard, std::min(most, window_));
    ask.skip[chunk.number] = false;
    ask.own = chunk.number;
    plan.asks.push_back(std::move(ask));
  }
  std::uint64_t waiting = unread();
  std::uint64_t entries = 0;
  const auto fits = [&](const FarAsk& ask) {
    waiting += std::min(wanted_of(ask, layout), window_);
    entries += chunk.entries;
    const Coordinates cell = coordinates_of(ask.cell, layout.grid().counts());
    return waiting <= budget_for(cell, layout) && entries <= std::max(kLookedAt, chunk.entries);
  };
  if (waiting >= most) return;
  for (const std::uint64_t inode : others(chunk, !plan.asks.empty())) {
    FarAsk ask = ask_of(inode, shards_.at(inode), window_);
    if (!fits(ask)) return;
    plan.asks.push_back(std::move(ask));
  }
  for (const std::uint64_t cell : ahead_) {
    if (is_known(cell)) continue;
    FarAsk ask;
    ask.cell = cell;
    ask.box = *box_;
    ask.skip.resize(chunk.entries);
    ask.most = window_;
    if (!fits(ask)) return;
    plan.next.push_back(std::move(ask));  // if its index has come
  }
}

/// The inodes of shards that are known, those first that the sweep comes to first.
std::vector<std::uint64_t> FarWalk::others(const FarChunk& chunk, bool own_asked) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> open;  // how far it is, and the inode
  for (const auto& [inode, shard] : shards_) {
    const bool own = inode == chunk.inode;
    if (shard.done == box_ || shard.count >= shard.opened.size()) continue;
    if (own ? own_asked : shard.file == nullptr) continue;
    open.emplace_back(shard.cell - chunk.cell, inode);  // those before it come last
  }
  std::sort(open.begin(), open.end());
  std::vector<std::uint64_t> inodes;
  for (const auto& [distance, inode] : open) inodes.push_back(inode);
  return inodes;
}

std::vector<ByteRange> FarWalk::take(const FarAsk& ask, const FarFound& found) {
  Shard& shard = shard_of(ask.inode, ask.skip.size());
  if (shard.asked.size() != ask.skip.size()) return {};
  if (!shard.entered) {
    shard.cell = ask.cell;
    shard.path = ask.path;
    shard.file = ask.file;
  }
  std::vector<ByteRange> ranges;
  for (const auto& [number, range] : found.entries) {
    const bool own = number == ask.own;
    if (!own && (shard.opened[number] || shard.asked[number])) continue;
    ranges.push_back(range);
    if (own) continue;
    shard.asked[number] = true;
    ++guessed_;
    shard.unread = std::min(shard.unread + range.length, found.size);
  }
  if (found.all) shard.done = ask.box;
  return ranges;
}

FarPlan FarWalk::plan(const FarChunk& chunk, const Layout& layout, std::uint64_t room) {
  const Coordinates& counts = layout.chunk_counts();
  FarPlan plan;
  plan.most = window_;
  room_ = room;
  if (again_ >= kAnotherReading) begin_anew();
  Shard& shard = shard_of(chunk.inode, chunk.entries);
  if (!shard.entered) enter(chunk);
  std::erase(last_, chunk.inode);
  last_.push_front(chunk.inode);
  if (last_.size() > kLast) last_.pop_back();
  const bool noted = chunk.number < chunk.entries && shard.opened.size() == chunk.entries;
  if (noted && shard.opened[chunk.number]) {
    ++again_;
    return plan;
  }
  again_ = 0;
  const bool came = (noted && shard.asked[chunk.number]) || shard.is_asked(chunk.range.offset);
  note(shard, chunk, came);
  const std::size_t axis = sweep_.axis();
  const bool goes_on = noted && sweep_.met(chunk.at, counts) && sweep_.axis() == axis;
  auto box = noted ? sweep_.ahead(counts) : std::nullopt;
  if (box_ && !goes_on) forget_unread();
  const bool more = box && (!box_ || !goes_on);
  if (!goes_on) reach_ = 0;
  if (more && !front_) front_ = chunk.cell;
  if (box) {
    // Of shards of which it only takes a part, the indexes come early: they are small, and each
    // would be a wait of its own.
    const bool parts = !takes_whole_shards(*box, sweep_.axis(), layout);
    if (parts) cells_of_box_ = cells_around(*box, layout);
    *box = within_reach(std::move(*box), sweep_.axis(), layout);
    if (!parts) cells_of_box_ = cells_around(*box, layout);
    // Until it leaves the shard, the next shard may be read from its start as well.
    const ChunkBox& seen = sweep_.seen();
    left_shard_ = layout.place_of(seen.first).cell != layout.place_of(seen.last).cell;
    if (!left_shard_) box = common(*box, chunks_of(chunk.cell_at, layout));
  }
  box_ = box;
  if (box) {
    plan_sweep(chunk, came, layout, plan);
  } else {
    plan.range = behind(shard, chunk);
    if (!came && !plan.range) plan.range = block_around(shard, chunk);
    if (!came && !plan.range && chunk.entries > 1) plan_alike(shard, chunk, plan);
  }
  if (shard.count == 1 || more || chunks_ % kLookEach == 0) {
    plan_next(shard, chunk, layout, plan);
  }
  return plan;
}

}  // namespace zarrfs
