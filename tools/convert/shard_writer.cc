#include "tools/convert/shard_writer.h"

#include <algorithm>

#include "core/base/request.h"
#include "core/metadata/grid.h"
#include "tools/convert/chunks_ahead.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {
namespace {

// Appends ranges of files and of memory to one file, in few and large operations.
class RangeAppender {
 public:
  explicit RangeAppender(NewFile& out) : out_(out) {}

  Result<void> append(const ChunkBytes& chunk) {
    if (chunk.memory) {
      ZARRFS_CHECK(flush_pending());
      return append_bytes(ByteView(*chunk.memory).subspan(chunk.range.offset, chunk.range.length));
    }
    const bool follows = pending_file_ && pending_identity_ == chunk.shard() &&
                         pending_.offset + pending_.length == chunk.range.offset &&
                         pending_.length < kBuffer;
    if (follows) {
      pending_.length += chunk.range.length;
      return {};
    }
    ZARRFS_CHECK(flush_pending());
    pending_file_ = chunk.file;
    pending_identity_ = chunk.shard();
    pending_ = chunk.range;
    return {};
  }

  Result<void> append_index(ByteView bytes) {
    ZARRFS_CHECK(flush_pending());
    ZARRFS_CHECK(append_bytes(bytes));
    return flush_buffer();
  }

 private:
  // Ranges that are larger are copied by the file system, which may share their blocks.
  static constexpr std::size_t kBuffer = std::size_t{1} << 20U;

  Result<void> flush_pending() {
    if (!pending_file_) return {};
    const std::shared_ptr<const File> file = std::move(pending_file_);
    pending_file_ = nullptr;
    if (pending_.length > kBuffer) {
      ZARRFS_CHECK(flush_buffer());
      ZARRFS_CHECK(out_.copy_range(*file, pending_, written_));
      written_ += pending_.length;
      return {};
    }
    ZARRFS_TRY(const MutableByteView room, room_for(pending_.length));
    ZARRFS_TRY(const std::size_t got, file->read_at(pending_.offset, room));
    if (got != pending_.length) {
      return fail(Fault::kStale, "a stored object became shorter while it was read");
    }
    return {};
  }

  Result<void> append_bytes(ByteView bytes) {
    if (bytes.size() > kBuffer) {
      ZARRFS_CHECK(flush_buffer());
      ZARRFS_CHECK(out_.write_at(written_, bytes));
      written_ += bytes.size();
      return {};
    }
    ZARRFS_TRY(const MutableByteView room, room_for(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), room.begin());
    return {};
  }

  // The next `size` bytes of the buffer, which is emptied first where they do not fit in.
  Result<MutableByteView> room_for(std::size_t size) {
    if (used_ + size > kBuffer) {
      ZARRFS_CHECK(flush_buffer());
    }
    used_ += size;
    return MutableByteView(buffer_).subspan(used_ - size, size);
  }

  Result<void> flush_buffer() {
    ZARRFS_CHECK(out_.write_at(written_, ByteView(buffer_).first(used_)));
    written_ += used_;
    used_ = 0;
    return {};
  }

  NewFile& out_;
  std::uint64_t written_ = 0;  // bytes that are in the file
  Bytes buffer_ = Bytes(kBuffer);
  std::size_t used_ = 0;  // of the buffer
  std::shared_ptr<const File> pending_file_;
  FileIdentity pending_identity_;
  ByteRange pending_;
};

}  // namespace

Result<ShardContents> write_shard(NewFile& out, const Layout& layout,
                                  std::span<const std::uint64_t> cell, ArrayReader& source) {
  ZARRFS_TRY(const IndexFormat format, layout.index_format_of(cell));
  ShardIndex index = ShardIndex::empty(format.entries());
  RangeAppender appender(out);
  ChunksAhead ahead([&](const auto&, const ChunkBytes& bytes) { return appender.append(bytes); });
  ShardContents contents;
  ZARRFS_CHECK(
      for_each_chunk_of(layout, cell, [&](const auto& chunk, std::uint64_t entry) -> Result<void> {
        if (interrupted()) return fail(interruption());
        ZARRFS_TRY(auto found, source.find_chunk(chunk));
        if (!found) return {};
        index.set(entry, {contents.bytes, found->range.length});
        contents.bytes += found->range.length;
        ++contents.chunks;
        return ahead.add(chunk, std::move(*found));
      }));
  ZARRFS_CHECK(ahead.finish());
  ZARRFS_TRY(const Bytes encoded, index.encode(format));
  ZARRFS_CHECK(appender.append_index(encoded));
  contents.bytes += encoded.size();
  return contents;
}

Result<void> for_each_chunk_of(
    const Layout& layout, std::span<const std::uint64_t> cell,
    const std::function<Result<void>(const std::vector<std::uint64_t>& chunk, std::uint64_t entry)>&
        visit) {
  const auto counts = layout.shard_counts(cell);
  const auto& chunk_counts = layout.chunk_counts();
  const std::size_t rank = counts.size();
  std::vector<std::uint64_t> first(rank);
  std::vector<std::uint64_t> within(rank);  // chunks of the shard that lie within the array
  for (std::size_t axis = 0; axis < rank; ++axis) {
    first[axis] = layout.grid().axes[axis].begin(cell[axis]) / layout.chunk_shape()[axis];
    within[axis] = std::min(counts[axis], chunk_counts[axis] - first[axis]);
  }
  const std::uint64_t count = checked_product(within).value_or(0);
  std::vector<std::uint64_t> chunk(rank);
  for (std::uint64_t i = 0; i < count; ++i) {
    ZARRFS_CHECK(check_wanted());
    const auto local = coordinates_of(i, within);
    for (std::size_t axis = 0; axis < rank; ++axis) chunk[axis] = first[axis] + local[axis];
    ZARRFS_CHECK(visit(chunk, linear_of(local, counts)));
  }
  return {};
}

}  // namespace zarrfs::tools
