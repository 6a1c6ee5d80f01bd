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
// Requests of the window's size that a sweep has on their way or unread at most, and how many times
// what it has met; shards that one chunk asks for.
constexpr std::uint64_t kWindows = 4;
constexpr std::uint64_t kTimes = 3;
constexpr std::size_t kAsks = 2;
constexpr std::uint64_t kLookEach = 16;  // chunks
// So many chunks in a row that had been opened before are another reading, more than readers have
// that open each chunk twice.
constexpr std::uint64_t kAnotherReading = 32;

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
  next_ = again_ = 0;
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
    if (!close && !comes) next_ = 0;
    if (!close && !comes) ahead_.clear();
    next_ = std::max(next_, *front_ + 1);
  } else if (!close) {
    front_.reset();
  }
}

void FarWalk::note(Shard& shard, const FarChunk& chunk, bool came) {
  ++chunks_;
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
    shard.asked_to = 0;
  }
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

/// The cells behind the front: few, or, where all of the shards is read, so many that the reader
/// does not come to wait for them.
void FarWalk::plan_next(const Shard& shard, const FarChunk& chunk, const Coordinates& cells,
                        FarPlan& plan) {
  if (!front_) return;
  const bool all_read = chunk.entries > 0 && most_count_ * 2 > chunk.entries;
  const bool well = credit_ >= kMostCredit / 4;
  const bool swept = box_ && shard.swept && shard.done == box_;
  const bool whole = ((all_read && well) || swept) && chunk.size <= window_;
  const std::uint64_t most = std::min(kUnread, room_);
  std::uint64_t stop = *front_ + 1 + kCellsAhead;
  if (whole) {
    const std::uint64_t waiting = unread() + ahead_.size() * chunk.size;
    if (shard.count > 1 && waiting >= most) return;
    const std::uint64_t more = (most - std::min(waiting, most)) / chunk.size;
    stop = std::min(std::max(stop, next_ + more), *front_ + 1 + kMostCellsAhead);
  }
  plan.whole = whole ? chunk.size + chunk.size / 8 : 0;
  const ChunkBox to_come = cells_to_come(chunk, cells);
  Coordinates at = coordinates_of(*front_, cells);
  if (!to_come.has(at)) return;
  for (std::uint64_t left = stop - *front_ - 1; left > 0 && to_come.step(at); --left) {
    const std::uint64_t cell = linear_of(at, cells);
    if (cell < next_) continue;
    next_ = cell + 1;
    plan.cells.push_back(cell);
    ahead_.push_back(cell);
    if (ahead_.size() > kMostCellsAhead) ahead_.pop_front();
  }
}

/// Where shards are left when they have been read whole, all; else those that the sweep comes to.
ChunkBox FarWalk::cells_to_come(const FarChunk& chunk, const Coordinates& cells) const {
  const auto before = last_.size() > 1 ? shards_.find(last_[1]) : shards_.end();
  const bool one_by_one = before != shards_.end() && before->second.count >= chunk.entries;
  if (box_ && !one_by_one) return cells_of_box_;
  ChunkBox all{Coordinates(cells.size(), 0), cells};
  for (std::uint64_t& last : all.last) --last;
  return all;
}

/// What was asked for in vain keeps nothing else waiting.
void FarWalk::forget_unread() {
  for (auto& [inode, shard] : shards_) shard.unread = 0;
}

FarAsk FarWalk::ask_of(std::uint64_t inode, const Shard& shard, std::uint64_t most) const {
  FarAsk ask{inode, shard.cell, shard.path, shard.file, *box_, shard.opened, std::nullopt, most};
  for (std::size_t i = 0; i < ask.skip.size(); ++i) ask.skip[i] = ask.skip[i] || shard.asked[i];
  return ask;
}

/// Three times as much as the sweep has met; but the chunk's own shard does not wait for what is
/// unread.
void FarWalk::plan_sweep(const FarChunk& chunk, bool came, FarPlan& plan) const {
  const std::uint64_t met = std::max(sweep_.met(), kAlike);
  const std::uint64_t grown = checked_multiply(met, kTimes * chunk.range.length).value_or(room_);
  const std::uint64_t budget = std::min({room_, kWindows * window_, grown});
  if (budget < chunk.range.length) return;
  const Shard& shard = shards_.at(chunk.inode);
  if (!came && shard.done != box_) {
    FarAsk ask = ask_of(chunk.inode, shard, std::min(budget, window_));
    ask.skip[chunk.number] = false;
    ask.own = chunk.number;
    plan.asks.push_back(std::move(ask));
  }
  const std::uint64_t waiting = unread();
  if (waiting > budget / 2) return;
  plan_others(chunk, std::min(budget, window_), plan);
  if (plan.asks.empty()) plan_opened(chunk, std::min(budget, window_), plan);
}

/// Of the shards that are known, those first that the sweep comes to first.
void FarWalk::plan_others(const FarChunk& chunk, std::uint64_t most, FarPlan& plan) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> open;  // how far it is, and the inode
  for (const auto& [inode, shard] : shards_) {
    const bool own = inode == chunk.inode;
    if (shard.done == box_ || shard.count >= shard.opened.size()) continue;
    if (own ? !plan.asks.empty() : shard.file == nullptr) continue;
    open.emplace_back(shard.cell - chunk.cell, inode);  // those before it come last
  }
  std::sort(open.begin(), open.end());
  for (const auto& [distance, inode] : open) {
    if (plan.asks.size() >= kAsks) return;
    plan.asks.push_back(ask_of(inode, shards_.at(inode), most));
  }
}

/// Those that were opened in advance are asked for as soon as their index is there.
void FarWalk::plan_opened(const FarChunk& chunk, std::uint64_t most, FarPlan& plan) const {
  for (const std::uint64_t cell : ahead_) {
    const bool known = std::any_of(shards_.begin(), shards_.end(),
                                   [&](const auto& one) { return one.second.cell == cell; });
    if (known) continue;
    if (plan.next.size() == kAsks) return;
    FarAsk ask;
    ask.cell = cell;
    ask.box = *box_;
    ask.skip.resize(chunk.entries);
    ask.most = most;
    plan.next.push_back(std::move(ask));
  }
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
  shard.swept = true;
  for (std::size_t i = 0; i < shard.asked.size(); ++i) {
    shard.swept = shard.swept && (shard.opened[i] || shard.asked[i]);
  }
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
  const auto box = noted ? sweep_.ahead(counts) : std::nullopt;
  if (box_ && !goes_on) forget_unread();
  box_ = box;
  if (box) {
    cells_of_box_ = {layout.place_of(box->first).cell, layout.place_of(box->last).cell};
    plan_sweep(chunk, came, plan);
  } else {
    plan.range = behind(shard, chunk);
    if (!came && !plan.range) plan.range = block_around(shard, chunk);
    if (!came && !plan.range && chunk.entries > 1) plan_alike(shard, chunk, plan);
  }
  if (shard.count == 1 || chunks_ % kLookEach == 0) {
    plan_next(shard, chunk, layout.grid().counts(), plan);
  }
  return plan;
}

}  // namespace zarrfs
