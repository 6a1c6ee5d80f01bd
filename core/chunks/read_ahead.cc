#include "core/chunks/read_ahead.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace zarrfs {

namespace {
constexpr std::size_t kMaxShards = 256;
constexpr std::size_t kMaxBlocks = 1024;  // of a shard
constexpr int kInOrder = 3;               // chunks in a row that make a pattern
constexpr std::uint64_t kLeastBlock = std::uint64_t{256} << 10U;
constexpr std::uint64_t kChunksInBlock = 16;
// A block is fetched when this part of it was opened: at most so many times the bytes are read.
constexpr std::uint64_t kPart = 8;
// The same, where bytes are dear and the chunks opened do not lie side by side.
constexpr std::uint64_t kFarPart = 4;
// Bytes opened one behind the other before more than their block is asked for from a server, and
// how many times as many are asked for then.
constexpr std::uint64_t kFarRun = std::uint64_t{1} << 20U;
constexpr std::uint64_t kFarGrowth = 4;
constexpr std::uint64_t kFetched = std::numeric_limits<std::uint64_t>::max();
}  // namespace

bool ReadAhead::is_fetched(const Progress& progress, std::uint64_t block) {
  const auto found = progress.blocks.find(block);
  return found != progress.blocks.end() && found->second.opened == kFetched;
}

std::optional<ByteRange> ReadAhead::behind(Progress& progress, ByteRange chunk,
                                           const Place& place) const {
  const std::uint64_t end = chunk.offset + chunk.length;
  const std::uint64_t gap = chunk.offset - std::min(chunk.offset, progress.end);
  const bool follows = chunk.offset >= progress.end && gap <= chunk.length;
  progress.in_order = follows ? std::min(progress.in_order + 1, kInOrder) : 0;
  if (!follows) progress.fetched = 0;
  progress.run = (follows ? progress.run : 0) + chunk.length;
  progress.end = end;
  if (progress.in_order < kInOrder) return std::nullopt;
  if (place.far && progress.run <= kFarRun) return std::nullopt;
  const std::uint64_t window = place.far ? std::min(window_, progress.run * kFarGrowth) : window_;
  if (end + window / 2 <= progress.fetched) return std::nullopt;  // over half a window under way
  const std::uint64_t begin = std::max(end, progress.fetched);
  const std::uint64_t stop = std::min(end + window, place.size);
  if (begin >= stop) return std::nullopt;
  progress.fetched = stop;
  return ByteRange{begin, stop - begin};
}

std::optional<ByteRange> ReadAhead::around(Progress& progress, ByteRange chunk,
                                           const Place& place) const {
  if (window_ < kLeastBlock || chunk.length >= window_ / 2) return std::nullopt;
  // The size of blocks follows the chunks' but for their compression, so that it rarely changes.
  const std::uint64_t block_size = std::min(
      std::bit_floor(window_), std::max(kLeastBlock, std::bit_ceil(chunk.length) * kChunksInBlock));
  if (chunk.length >= block_size / 2) return std::nullopt;
  const std::uint64_t begin = chunk.offset / block_size * block_size;
  if (progress.blocks.size() >= kMaxBlocks) progress.blocks.clear();
  Block& block = progress.blocks[begin];
  if (block.opened == kFetched || (block.opened > 0 && block.last == chunk.offset)) {
    return std::nullopt;
  }
  const bool first = block.opened == 0;
  const std::uint64_t apart =
      std::max(block.last, chunk.offset) - std::min(block.last, chunk.offset);
  const bool dear = place.far && apart > 2 * chunk.length;
  block.last = chunk.offset;
  block.opened += chunk.length;
  const bool goes_on = place.far && begin > 0 && is_fetched(progress, begin - block_size);
  const bool enters = goes_on && chunk.offset - begin < 2 * chunk.length;
  const std::uint64_t part = block_size / (dear ? kFarPart : kPart);
  if (!enters && (first || block.opened < part)) return std::nullopt;
  std::uint64_t stop = begin;
  const std::uint64_t most = goes_on ? std::min(window_, kFarGrowth * block_size) : block_size;
  for (; stop < std::min(begin + most, place.size); stop += block_size) {
    progress.blocks[stop].opened = kFetched;
  }
  return ByteRange{begin, std::min(stop, place.size) - begin};
}

void ReadAhead::opened(const ChunkBytes& chunk) {
  if (window_ == 0 || chunk.file == nullptr) return;
  const Place place{chunk.file->size(), chunk.file->descriptor() < 0};
  if (!lies_within(chunk.range, place.size)) return;
  std::optional<ByteRange> fetch;
  {
    const std::lock_guard lock(mutex_);
    if (shards_.size() >= kMaxShards && !shards_.contains(chunk.shard.inode)) shards_.clear();
    Progress& progress = shards_[chunk.shard.inode];
    fetch = behind(progress, chunk.range, place);
    const bool is_start = place.far && progress.run <= kFarRun;
    if (!fetch && (progress.in_order < kInOrder || is_start)) {
      fetch = around(progress, chunk.range, place);
    }
  }
  if (!fetch) return;
  chunk.file->fetch(*fetch);
}

}  // namespace zarrfs
