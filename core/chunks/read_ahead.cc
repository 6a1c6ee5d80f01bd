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
constexpr std::uint64_t kFetched = std::numeric_limits<std::uint64_t>::max();
}  // namespace

std::optional<ByteRange> ReadAhead::behind(Progress& progress, ByteRange chunk,
                                           std::uint64_t size) const {
  const std::uint64_t end = chunk.offset + chunk.length;
  const std::uint64_t gap = chunk.offset - std::min(chunk.offset, progress.end);
  const bool follows = chunk.offset >= progress.end && gap <= chunk.length;
  progress.in_order = follows ? std::min(progress.in_order + 1, kInOrder) : 0;
  if (!follows) progress.fetched = 0;
  progress.end = end;
  if (progress.in_order < kInOrder) return std::nullopt;
  if (end + window_ / 2 <= progress.fetched) return std::nullopt;  // over half a window under way
  const std::uint64_t begin = std::max(end, progress.fetched);
  const std::uint64_t stop = std::min(end + window_, size);
  if (begin >= stop) return std::nullopt;
  progress.fetched = stop;
  return ByteRange{begin, stop - begin};
}

std::optional<ByteRange> ReadAhead::around(Progress& progress, ByteRange chunk,
                                           std::uint64_t size) const {
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
  block.last = chunk.offset;
  block.opened += chunk.length;
  if (first || block.opened < block_size / kPart) return std::nullopt;
  block.opened = kFetched;
  return ByteRange{begin, std::min(block_size, size - begin)};
}

void ReadAhead::opened(const ChunkBytes& chunk) {
  if (window_ == 0 || chunk.file == nullptr) return;
  const std::uint64_t size = chunk.file->size();
  if (!lies_within(chunk.range, size)) return;
  std::optional<ByteRange> fetch;
  {
    const std::lock_guard lock(mutex_);
    if (shards_.size() >= kMaxShards && !shards_.contains(chunk.shard_status.st_ino))
      shards_.clear();
    Progress& progress = shards_[chunk.shard_status.st_ino];
    fetch = behind(progress, chunk.range, size);
    if (!fetch && progress.in_order < kInOrder) fetch = around(progress, chunk.range, size);
  }
  if (!fetch) return;
  chunk.file->fetch(*fetch);
}

}  // namespace zarrfs
