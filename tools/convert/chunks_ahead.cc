#include "tools/convert/chunks_ahead.h"

namespace zarrfs::tools {
namespace {
constexpr std::size_t kMostWaiting = 16;
constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 20U;
}  // namespace

Result<void> ChunksAhead::add(const std::vector<std::uint64_t>& chunk, ChunkBytes bytes) {
  if (bytes.file) fetch(bytes);
  waiting_bytes_ += bytes.range.length;
  waiting_.push_back({chunk, std::move(bytes)});
  while (many()) ZARRFS_CHECK(use_first());
  return {};
}

Result<void> ChunksAhead::finish() {
  while (!waiting_.empty()) ZARRFS_CHECK(use_first());
  return {};
}

// The chunks of one file share a descriptor: of those that follow each other the kernel then sees
// that they are read in order, and fetches what comes next by itself, in larger pages.
void ChunksAhead::fetch(ChunkBytes& bytes) {
  const bool same_file = last_.file && last_.shard() == bytes.shard();
  if (same_file) bytes.file = last_.file;
  const bool follows = same_file && last_.range.offset + last_.range.length == bytes.range.offset;
  if (!follows) bytes.file->fetch(bytes.range);
  last_ = bytes;
}

bool ChunksAhead::many() const {
  return !waiting_.empty() && (waiting_.size() >= kMostWaiting || waiting_bytes_ > kMostBytes);
}

Result<void> ChunksAhead::use_first() {
  const Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= first.bytes.range.length;
  return use_(first.chunk, first.bytes);
}

}  // namespace zarrfs::tools
