#include "core/chunks/far_ahead.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

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
constexpr std::uint64_t kLookEach = 16;  // chunks

/// Ranges in order, those close to each other as one: what is brought for nothing is at most half
/// of what is wanted.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges, std::uint64_t most) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<std::pair<std::uint64_t, std::size_t>> gaps;  // length, and the range behind it
  std::uint64_t wanted = ranges.empty() ? 0 : ranges.front().length;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const std::uint64_t end = ranges[i - 1].offset + ranges[i - 1].length;
    gaps.emplace_back(ranges[i].offset - std::min(end, ranges[i].offset), i);
    wanted += ranges[i].length;
  }
  std::sort(gaps.begin(), gaps.end());
  std::vector<bool> joins(ranges.size(), false);
  std::uint64_t wasted = 0;
  for (const auto& [gap, behind] : gaps) {
    wasted += gap;
    if (wasted > wanted / 2) break;
    joins[behind] = true;
  }
  std::vector<ByteRange> found;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::uint64_t end = ranges[i].offset + ranges[i].length;
    if (joins[i] && end - found.back().offset <= most) {
      found.back().length = std::max(found.back().length, end - found.back().offset);
    } else {
      found.push_back(ranges[i]);
    }
  }
  return found;
}

/// 0 where they are too many to note each.
std::uint64_t entries_in(const Layout& layout, std::span<const std::uint64_t> cell) {
  const std::uint64_t count = count_of(layout, cell);
  return count <= kMostEntries ? count : 0;
}

}  // namespace

/// The chunk that is opened.
struct FarAhead::Chunk {
  std::uint64_t inode = 0;
  std::uint64_t cell = 0;  ///< Its number in the grid.
  std::uint64_t number = 0;
  std::uint64_t entries = 0;  ///< Of the shard; 0: they are not noted.
  std::uint64_t size = 0;     ///< Of the shard.
  ByteRange range;
};

/// What is asked for.
struct FarAhead::Plan {
  std::vector<std::uint64_t> entries;  ///< Of the chunk's shard, in order.
  std::optional<ByteRange> range;      ///< Of its file.
  std::uint64_t most = 0;              ///< Bytes of a request.
  std::uint64_t first_cell = 0;
  std::uint64_t cells = 0;  ///< Those from first_cell on are opened in advance,
  std::uint64_t whole = 0;  ///< with so many bytes; 0: with their index.
};

struct FarAhead::Shard {
  std::uint64_t block = 0;  ///< Bytes of the smallest blocks.
  std::uint64_t count = 0;  ///< Of the entries that were opened.
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
  Plan plan(const Chunk& chunk);

 private:
  Shard& shard_of(const Chunk& chunk);
  void enter(const Chunk& chunk);
  void note(Shard& shard, const Chunk& chunk, bool came);
  [[nodiscard]] const Shard* model_for(const Shard& shard, const Chunk& chunk) const;
  void plan_alike(Shard& shard, const Chunk& chunk, Plan& plan);
  std::optional<ByteRange> block_around(Shard& shard, const Chunk& chunk) const;
  std::optional<ByteRange> behind(Shard& shard, const Chunk& chunk) const;
  [[nodiscard]] std::uint64_t unread() const;
  void plan_next(const Shard& shard, const Chunk& chunk, Plan& plan);

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
};

FarAhead::Shard& FarAhead::Walk::shard_of(const Chunk& chunk) {
  const auto known = shards_.find(chunk.inode);
  if (known != shards_.end()) return known->second;
  if (shards_.size() >= kMostShards) {
    std::erase_if(shards_, [&](const auto& one) {
      return one.first != fullest_ &&
             std::find(last_.begin(), last_.end(), one.first) == last_.end();
    });
  }
  Shard& shard = shards_[chunk.inode];
  shard.opened.resize(chunk.entries);
  shard.asked.resize(chunk.entries);
  shard.block = std::max(kSmallestBlock, std::bit_ceil(chunk.range.length) * kChunksOfBlock);
  enter(chunk);
  return shard;
}

/// A shard is read for the first time.
void FarAhead::Walk::enter(const Chunk& chunk) {
  bool in_order = true;
  for (std::uint64_t back = 1; back <= kCellsInOrder; ++back) {
    in_order = in_order && chunk.cell >= back &&
               std::find(cells_.begin(), cells_.end(), chunk.cell - back) != cells_.end();
  }
  cells_.push_front(chunk.cell);
  if (cells_.size() > kMostCellsAhead) cells_.pop_back();
  const bool close = front_ && chunk.cell + kLast >= *front_ && chunk.cell <= *front_ + kLast;
  if (in_order) {
    front_ = close ? std::max(*front_, chunk.cell) : chunk.cell;
    if (!close) next_ = 0;
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
void FarAhead::Walk::plan_next(const Shard& shard, const Chunk& chunk, Plan& plan) {
  if (!front_) return;
  const bool all_read = chunk.entries > 0 && most_count_ * 2 > chunk.entries;
  const bool whole = all_read && chunk.size <= window_ && credit_ >= kMostCredit / 4;
  std::uint64_t stop = *front_ + 1 + kCellsAhead;
  if (whole) {
    const std::uint64_t waiting = unread() + (next_ - *front_ - 1) * chunk.size;
    if (shard.count > 1 && waiting >= kUnread) return;
    const std::uint64_t more = (kUnread - std::min(waiting, kUnread)) / chunk.size;
    stop = std::min(std::max(stop, next_ + more), *front_ + 1 + kMostCellsAhead);
  }
  if (stop <= next_) return;
  plan.first_cell = next_;
  plan.cells = stop - next_;
  plan.whole = whole ? chunk.size + chunk.size / 8 : 0;
  next_ = stop;
}

FarAhead::Plan FarAhead::Walk::plan(const Chunk& chunk) {
  Plan plan;
  plan.most = window_;
  Shard& shard = shard_of(chunk);
  std::erase(last_, chunk.inode);
  last_.push_front(chunk.inode);
  if (last_.size() > kLast) last_.pop_back();
  const bool noted = chunk.number < chunk.entries;
  if (noted && shard.opened[chunk.number]) return plan;
  const bool came = (noted && shard.asked[chunk.number]) || shard.is_asked(chunk.range.offset);
  note(shard, chunk, came);
  plan.range = behind(shard, chunk);
  if (!came && !plan.range) plan.range = block_around(shard, chunk);
  if (!came && !plan.range && chunk.entries > 1) plan_alike(shard, chunk, plan);
  if (shard.count == 1 || chunks_ % kLookEach == 0) plan_next(shard, chunk, plan);
  return plan;
}

FarAhead::FarAhead(std::uint64_t window) : window_(window) {}
FarAhead::~FarAhead() = default;

FarAhead::Plan FarAhead::plan(const std::string& path, const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (walks_.size() >= kMostArrays && !walks_.contains(path)) walks_.clear();
  std::unique_ptr<Walk>& walk = walks_[path];
  if (walk == nullptr) walk = std::make_unique<Walk>(window_);
  return walk->plan(chunk);
}

void FarAhead::open_next(const ArrayReader& reader, const Plan& plan) {
  if (plan.cells == 0) return;
  const auto counts = reader.layout().grid().counts();
  const std::uint64_t end =
      std::min(checked_product(counts).value_or(0), plan.first_cell + plan.cells);
  std::vector<std::string> paths;
  for (std::uint64_t cell = plan.first_cell; cell < end; ++cell) {
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
  for (const ByteRange& range : joined(std::move(ranges), plan.most)) file.fetch(range);
}

void FarAhead::opened(ArrayReader& reader, const ChunkPlace& place, const ChunkBytes& bytes) {
  const auto made_of = bytes.file->place();  // where the chunk is made of other bytes
  const File& file = made_of ? *made_of->whole : *bytes.file;
  const ByteRange range = made_of ? made_of->range : bytes.range;
  const std::uint64_t size = file.size();
  if (window_ == 0 || range.length == 0 || !lies_within(range, size)) return;
  const Layout& layout = reader.layout();
  // The file of a volume has the chunks of many cells: only its bytes tell them apart.
  const bool shared = !layout.sharded() && range.length < size;
  const std::uint64_t entries = shared ? 0 : entries_in(layout, place.cell);
  const Plan made =
      plan(reader.path(), {file.identity().inode, linear_of(place.cell, layout.grid().counts()),
                           place.number, entries, size, range});
  if (made.range) file.fetch(*made.range);
  if (!made.entries.empty()) fetch_alike(reader, place.cell, made, file);
  open_next(reader, made);
}

}  // namespace zarrfs
