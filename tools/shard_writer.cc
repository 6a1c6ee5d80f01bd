#include "tools/shard_writer.h"

#include "core/zarr/grid.h"
#include "tools/console.h"

namespace zarrfs {
namespace {

// Appends ranges of files and of memory to one file, in few and large operations.
class RangeAppender {
 public:
  explicit RangeAppender(NewFile& out) : out_(out) { buffer_.reserve(kBuffer); }

  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  Result<void> append(const ChunkBytes& chunk) {
    offset_ += chunk.range.length;
    if (chunk.memory) {
      ZARRFS_CHECK(flush_pending());
      return append_bytes(ByteView(*chunk.memory).subspan(chunk.range.offset, chunk.range.length));
    }
    const bool follows = pending_file_ && pending_identity_ == chunk.shard &&
                         pending_.offset + pending_.length == chunk.range.offset;
    if (follows) {
      pending_.length += chunk.range.length;
      return {};
    }
    ZARRFS_CHECK(flush_pending());
    pending_file_ = chunk.file;
    pending_identity_ = chunk.shard;
    pending_ = chunk.range;
    return {};
  }

  Result<void> append_index(ByteView bytes) {
    ZARRFS_CHECK(flush_pending());
    ZARRFS_CHECK(append_bytes(bytes));
    offset_ += bytes.size();
    return flush_buffer();
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{4} << 20U;
  // Larger ranges are copied by the file system, which may share their blocks.
  static constexpr std::uint64_t kCopyFrom = std::uint64_t{1} << 20U;

  Result<void> flush_pending() {
    if (!pending_file_) return {};
    const std::shared_ptr<const File> file = std::move(pending_file_);
    pending_file_ = nullptr;
    if (pending_.length >= kCopyFrom) {
      ZARRFS_CHECK(flush_buffer());
      ZARRFS_CHECK(out_.copy_range(*file, pending_, written_));
      written_ += pending_.length;
      return {};
    }
    if (buffer_.size() + pending_.length > kBuffer) {
      ZARRFS_CHECK(flush_buffer());
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + pending_.length);
    ZARRFS_TRY(const std::size_t got,
               file->read_at(pending_.offset, MutableByteView(buffer_).subspan(before)));
    if (got != pending_.length) {
      return fail(Fault::kStale, "a stored object became shorter while it was read");
    }
    return {};
  }

  Result<void> append_bytes(ByteView bytes) {
    if (buffer_.size() + bytes.size() > kBuffer) {
      ZARRFS_CHECK(flush_buffer());
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return {};
  }

  Result<void> flush_buffer() {
    if (buffer_.empty()) return {};
    ZARRFS_CHECK(out_.write_at(written_, buffer_));
    written_ += buffer_.size();
    buffer_.clear();
    return {};
  }

  NewFile& out_;
  std::uint64_t offset_ = 0;   // where the next byte belongs
  std::uint64_t written_ = 0;  // bytes that are in the file
  Bytes buffer_;
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
  ShardContents contents;
  ZARRFS_CHECK(
      for_each_chunk_of(layout, cell, [&](const auto& chunk, std::uint64_t entry) -> Result<void> {
        if (interrupted()) return fail(interruption());
        ZARRFS_TRY(const auto found, source.find_chunk(chunk));
        if (!found) return {};
        index.set(entry, {appender.offset(), found->range.length});
        ++contents.chunks;
        return appender.append(*found);
      }));
  ZARRFS_TRY(const Bytes encoded, index.encode(format));
  ZARRFS_CHECK(appender.append_index(encoded));
  contents.bytes = appender.offset();
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
    const auto local = coordinates_of(i, within);
    for (std::size_t axis = 0; axis < rank; ++axis) chunk[axis] = first[axis] + local[axis];
    ZARRFS_CHECK(visit(chunk, linear_of(local, counts)));
  }
  return {};
}

}  // namespace zarrfs
