#include "core/chunks/far_ahead.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/chunks/joined_ranges.h"
#include "core/store/store.h"
#include "core/write/shard_builder.h"
#include "core/zarr/open_hint.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostArrays = 64;
constexpr std::size_t kMostShards = 64;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 17U;
constexpr std::size_t kMostBlocks = 4096;
constexpr std::uint64_t kAsked = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t kSmallestBlock = std::uint64_t{256} << 10U;
constexpr std::uint64_t kChunksOfBlock = 16;
// Bytes opened one behind the other before what lies behind them is asked for.
constexpr std::uint64_t kRun = std::uint64_t{1} << 20U;
// Shards that are compared with, and how many chunks two must have in common.
constexpr std::size_t kLast = 8;
constexpr std::uint64_t kAlike = 2;
// Bytes that may be asked for wrongly: few at first, more where it went well.
constexpr std::uint64_t kFirstCredit = std::uint64_t{1} << 20U;
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

}  // namespace

/// The chunk that is opened.
struct FarAhead::Chunk {
  std::uint64_t inode = 0;
  std::uint64_t cell = 0;  ///< Its number in the grid.
  Coordinates at;          ///< Of the chunk, and of its shard in the grid.
  Coordinates cell_at;
  std::string path;                  ///< Of the shard.
  std::shared_ptr<const File> file;  ///< The shard's; null where it is a part of another.
  std::uint64_t number = 0;
  std::uint64_t entries = 0;  ///< Of the shard; 0: they are not noted.
  std::uint64_t size = 0;     ///< Of the shard.
  ByteRange range;
};

/// The chunks of a shard that a sweep comes to.
struct FarAhead::Ask {
  std::uint64_t inode = 0;
  std::uint64_t cell = 0;
  std::string path;
  std::shared_ptr<const File> file;  ///< Null: the one that the chunk lies in.
  ChunkBox box;
  std::vector<bool> skip;            ///< Entries that were opened or asked for.
  std::optional<std::uint64_t> own;  ///< The one that is opened, where it was not asked for.
  std::uint64_t most = 0;            ///< Bytes.
};

/// Those that were found in its index.
struct FarAhead::Found {
  std::vector<std::pair<std::uint64_t, ByteRange>> entries;
  std::uint64_t size = 0;  ///< Of the shard.
  bool all = true;         ///< Else they are more than Ask::most.
};

/// What is asked for.
struct FarAhead::Plan {
  std::vector<Ask> asks;
  std::vector<Ask> next;  ///< Those that were opened in advance, if their index has come.
  std::vector<std::uint64_t> entries;  ///< Of the chunk's shard, in order.
  std::optional<ByteRange> range;      ///< Of its file.
  std::uint64_t most = 0;              ///< Bytes of a request.
  std::vector<std::uint64_t> cells;    ///< Those that are opened in advance,
  std::uint64_t whole = 0;             ///< with so many bytes; 0: with their index.
};

struct FarAhead::Shard {
  std::uint64_t cell = 0;
  std::string path;
  std::shared_ptr<const File> file;  ///< Null: see Chunk.
  bool entered = false;              ///< Else it was only asked for in advance.
  std::optional<ChunkBox> done;      ///< All of it was asked for,
  bool swept = false;                ///< and that was all there is.
  std::uint64_t block = 0;           ///< Bytes of the smallest blocks.
  std::uint64_t count = 0;           ///< Of the entries that were opened.
  std::vector<bool> opened;
  std::vector<bool> asked;
  std::unordered_map<std::uint64_t, std::uint64_t> blocks;  ///< Bytes opened; kAsked.
  std::uint64_t begin = 0;                                  ///< Of the run of chunks in order.
  std::uint64_t end = 0;
  std::uint64_t asked_to = 0;  ///< Behind the run.
  std::uint64_t unread = 0;    ///< Bytes that were asked for in advance.

  [[nodiscard]] bool is_asked(std::uint64_t at) const {
    const auto found = blocks.find(at / block);
    return found != blocks.end() && found->second == kAsked;
  }
  void mark_asked(ByteRange range) {
    const std::uint64_t end_block = divide_up(range.offset + range.length, block);
    for (std::uint64_t at = range.offset / block; at < end_block; ++at) blocks[at] = kAsked;
  }
};

/// How one array is read.
class FarAhead::Walk {
 public:
  explicit Walk(std::uint64_t window) : window_(window) {}
  /// `room`: bytes that may be unread.
  Plan plan(const Chunk& chunk, const Layout& layout, std::uint64_t room);
  /// Ranges to ask for, of what was not meanwhile.
  std::vector<ByteRange> take(const Ask& ask, const Found& found);

 private:
  Shard& shard_of(std::uint64_t inode, std::uint64_t entries);
  void enter(const Chunk& chunk);
  void forget_unread();
  Ask ask_of(std::uint64_t inode, const Shard& shard, std::uint64_t most) const;
  void plan_sweep(const Chunk& chunk, bool came, Plan& plan) const;
  void plan_others(const Chunk& chunk, std::uint64_t most, Plan& plan) const;
  void plan_opened(const Chunk& chunk, std::uint64_t most, Plan& plan) const;
  void note(Shard& shard, const Chunk& chunk, bool came);
  [[nodiscard]] const Shard* model_for(const Shard& shard, const Chunk& chunk) const;
  void plan_alike(Shard& shard, const Chunk& chunk, Plan& plan);
  std::optional<ByteRange> block_around(Shard& shard, const Chunk& chunk) const;
  std::optional<ByteRange> behind(Shard& shard, const Chunk& chunk) const;
  [[nodiscard]] std::uint64_t unread() const;
  void plan_next(const Shard& shard, const Chunk& chunk, const Coordinates& cells, Plan& plan);
  [[nodiscard]] ChunkBox cells_to_come(const Chunk& chunk, const Coordinates& cells) const;

  const std::uint64_t window_;
  std::unordered_map<std::uint64_t, Shard> shards_;  // by inode
  std::deque<std::uint64_t> last_;                   // inodes of those read last, newest first
  std::uint64_t fullest_ = 0;                        // inode of the one that most was read of
  std::uint64_t most_count_ = 0;
  std::deque<std::uint64_t> cells_;     // in the order of their opening, newest first
  std::optional<std::uint64_t> front_;  // the last of cells that follow each other
  std::uint64_t next_ = 0;              // the first cell behind it that was not opened in advance
  std::uint64_t chunks_ = 0;
  std::uint64_t hits_ = 0;  // chunks that were asked for in advance, and then opened
  std::uint64_t guessed_ = 0;
  std::uint64_t credit_ = kFirstCredit;
  Sweep sweep_;
  std::optional<ChunkBox> box_;      // what the sweep comes to,
  ChunkBox cells_of_box_;            // in these cells
  std::deque<std::uint64_t> ahead_;  // cells that were opened in advance, and not read since
  std::uint64_t room_ = 0;           // for what is unread
};

FarAhead::Shard& FarAhead::Walk::shard_of(std::uint64_t inode, std::uint64_t entries) {
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

/// A shard is read for the first time.
void FarAhead::Walk::enter(const Chunk& chunk) {
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

void FarAhead::Walk::note(Shard& shard, const Chunk& chunk, bool came) {
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
const FarAhead::Shard* FarAhead::Walk::model_for(const Shard& shard, const Chunk& chunk) const {
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
void FarAhead::Walk::plan_alike(Shard& shard, const Chunk& chunk, Plan& plan) {
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

std::optional<ByteRange> FarAhead::Walk::block_around(Shard& shard, const Chunk& chunk) const {
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

std::optional<ByteRange> FarAhead::Walk::behind(Shard& shard, const Chunk& chunk) const {
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

std::uint64_t FarAhead::Walk::unread() const {
  std::uint64_t bytes = 0;
  for (const auto& [inode, shard] : shards_) bytes += shard.unread;
  return bytes;
}

/// The cells behind the front: few, or, where all of the shards is read, so many that the reader
/// does not come to wait for them.
void FarAhead::Walk::plan_next(const Shard& shard, const Chunk& chunk, const Coordinates& cells,
                               Plan& plan) {
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
ChunkBox FarAhead::Walk::cells_to_come(const Chunk& chunk, const Coordinates& cells) const {
  const auto before = last_.size() > 1 ? shards_.find(last_[1]) : shards_.end();
  const bool one_by_one = before != shards_.end() && before->second.count >= chunk.entries;
  if (box_ && !one_by_one) return cells_of_box_;
  ChunkBox all{Coordinates(cells.size(), 0), cells};
  for (std::uint64_t& last : all.last) --last;
  return all;
}

/// What was asked for in vain keeps nothing else waiting.
void FarAhead::Walk::forget_unread() {
  for (auto& [inode, shard] : shards_) shard.unread = 0;
}

FarAhead::Ask FarAhead::Walk::ask_of(std::uint64_t inode, const Shard& shard,
                                     std::uint64_t most) const {
  Ask ask{inode, shard.cell, shard.path, shard.file, *box_, shard.opened, std::nullopt, most};
  for (std::size_t i = 0; i < ask.skip.size(); ++i) ask.skip[i] = ask.skip[i] || shard.asked[i];
  return ask;
}

/// Three times as much as the sweep has met; but the chunk's own shard does not wait for what is
/// unread.
void FarAhead::Walk::plan_sweep(const Chunk& chunk, bool came, Plan& plan) const {
  const std::uint64_t met = std::max(sweep_.met(), kAlike);
  const std::uint64_t grown = checked_multiply(met, kTimes * chunk.range.length).value_or(room_);
  const std::uint64_t budget = std::min({room_, kWindows * window_, grown});
  const Shard& shard = shards_.at(chunk.inode);
  if (!came && shard.done != box_) {
    Ask ask = ask_of(chunk.inode, shard, std::min(budget, window_));
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
void FarAhead::Walk::plan_others(const Chunk& chunk, std::uint64_t most, Plan& plan) const {
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
void FarAhead::Walk::plan_opened(const Chunk& chunk, std::uint64_t most, Plan& plan) const {
  for (const std::uint64_t cell : ahead_) {
    const bool known = std::any_of(shards_.begin(), shards_.end(),
                                   [&](const auto& one) { return one.second.cell == cell; });
    if (known) continue;
    if (plan.next.size() == kAsks) return;
    Ask ask;
    ask.cell = cell;
    ask.box = *box_;
    ask.skip.resize(chunk.entries);
    ask.most = most;
    plan.next.push_back(std::move(ask));
  }
}

std::vector<ByteRange> FarAhead::Walk::take(const Ask& ask, const Found& found) {
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

FarAhead::Plan FarAhead::Walk::plan(const Chunk& chunk, const Layout& layout, std::uint64_t room) {
  const Coordinates& counts = layout.chunk_counts();
  Plan plan;
  plan.most = window_;
  room_ = room;
  Shard& shard = shard_of(chunk.inode, chunk.entries);
  if (!shard.entered) enter(chunk);
  std::erase(last_, chunk.inode);
  last_.push_front(chunk.inode);
  if (last_.size() > kLast) last_.pop_back();
  const bool noted = chunk.number < chunk.entries && shard.opened.size() == chunk.entries;
  if (noted && shard.opened[chunk.number]) return plan;
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

/// The caller holds the lock.
FarAhead::Walk& FarAhead::walk_of(const std::string& path) {
  if (walks_.size() >= kMostArrays && !walks_.contains(path)) walks_.clear();
  std::unique_ptr<Walk>& walk = walks_[path];
  if (walk == nullptr) walk = std::make_unique<Walk>(window_);
  return *walk;
}

void FarAhead::open_next(const ArrayReader& reader, const Plan& plan) {
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

void FarAhead::fetch_alike(ArrayReader& reader, const Coordinates& cell, const Plan& plan,
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
void FarAhead::fetch_swept(ArrayReader& reader, const Ask& ask, const File& file) {
  Found found;
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
    ranges = walk_of(reader.path()).take(ask, found);
  }
  for (const ByteRange& range : join_ranges(std::move(ranges), window_)) file.fetch(range);
}

void FarAhead::fetch_opened(ArrayReader& reader, Ask ask) {
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
  Chunk chunk{file.identity().inode,
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
  Plan made;
  {
    const std::lock_guard lock(mutex_);
    made = walk_of(reader.path()).plan(chunk, layout, reader.store().room_ahead());
  }
  if (made.range) file.fetch(*made.range);
  if (!made.entries.empty()) fetch_alike(reader, place.cell, made, file);
  for (const Ask& ask : made.asks) {
    fetch_swept(reader, ask, ask.inode == chunk.inode ? file : *ask.file);
  }
  open_next(reader, made);
  for (Ask& ask : made.next) fetch_opened(reader, std::move(ask));
}

FarAhead::FarAhead(std::uint64_t window) : window_(window) {}
FarAhead::~FarAhead() = default;

}  // namespace zarrfs
