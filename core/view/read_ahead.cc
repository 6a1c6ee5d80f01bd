#include "core/view/read_ahead.h"

#include <fcntl.h>

#include <algorithm>

namespace zarrfs {

namespace {
constexpr std::size_t kMaxShards = 256;
constexpr int kInOrder = 3;  // chunks in a row that make a pattern
}  // namespace

void ReadAhead::opened(const ChunkBytes& chunk) {
  if (window_ == 0 || chunk.file == nullptr || chunk.file->descriptor() < 0) return;
  const std::uint64_t end = chunk.range.offset + chunk.range.length;
  ByteRange fetch;
  {
    const std::lock_guard lock(mutex_);
    if (shards_.size() >= kMaxShards && !shards_.contains(chunk.shard.inode)) shards_.clear();
    Progress& progress = shards_[chunk.shard.inode];
    const std::uint64_t gap = chunk.range.offset - std::min(chunk.range.offset, progress.end);
    const bool follows = chunk.range.offset >= progress.end && gap <= chunk.range.length;
    progress.in_order = follows ? std::min(progress.in_order + 1, kInOrder) : 0;
    if (!follows) progress.fetched = 0;
    progress.end = end;
    if (progress.in_order < kInOrder) return;
    if (end + window_ / 2 <= progress.fetched) return;  // more than half a window is under way
    const std::uint64_t begin = std::max(end, progress.fetched);
    const std::uint64_t stop = std::min(end + window_, chunk.file->size());
    if (begin >= stop) return;
    progress.fetched = stop;
    fetch = {begin, stop - begin};
  }
  // Advice only: where the file system does not take it, chunks are read when they are asked for.
  static_cast<void>(::posix_fadvise(chunk.file->descriptor(), static_cast<off_t>(fetch.offset),
                                    static_cast<off_t>(fetch.length), POSIX_FADV_WILLNEED));
}

}  // namespace zarrfs
