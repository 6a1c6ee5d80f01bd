#include "core/write/shard_builder.h"

#include <algorithm>

namespace zarrfs {
namespace {

/// Entries of each level of the shard at `cell`, outermost first.
std::vector<std::uint64_t> level_entries(const Layout& layout,
                                         std::span<const std::uint64_t> cell) {
  std::vector<std::uint64_t> entries;
  for (std::size_t level = 0; level < layout.levels().size(); ++level) {
    const auto counts = level == 0 ? layout.shard_counts(cell) : layout.levels()[level].counts;
    entries.push_back(checked_product(counts).value_or(0));
  }
  return entries;
}

/// Receives the bytes of a shard front to back; an index at the start is filled in later.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> write(std::uint64_t offset, ByteView bytes) = 0;
  virtual Result<void> copy(const ChunkOrigin& source, std::uint64_t offset) = 0;
};

class FileSink final : public Sink {
 public:
  explicit FileSink(NewFile& file) : file_(file) {}
  Result<void> write(std::uint64_t offset, ByteView bytes) override {
    return file_.write_at(offset, bytes);
  }
  Result<void> copy(const ChunkOrigin& source, std::uint64_t offset) override {
    return copy_source(file_, source, offset);
  }

 private:
  NewFile& file_;
};

class MemorySink final : public Sink {
 public:
  Result<void> write(std::uint64_t offset, ByteView bytes) override {
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Result<void> copy(const ChunkOrigin& source, std::uint64_t offset) override {
    if (source.memory) {
      return write(offset,
                   ByteView(*source.memory).subspan(source.range.offset, source.range.length));
    }
    ZARRFS_TRY(const Bytes bytes, source.file->read_range(source.range));
    return write(offset, bytes);
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

class Builder {
 public:
  Builder(const Layout& layout, std::span<const std::uint64_t> cell, const ChunkOrigins& chunks)
      : layout_(layout), cell_(cell), chunks_(chunks), entries_(level_entries(layout, cell)) {
    spans_.assign(entries_.size() + 1, 1);
    for (std::size_t level = entries_.size(); level > 0; --level) {
      spans_[level - 1] = spans_[level] * entries_[level - 1];
    }
  }

  /// Writes the shard of `level` whose first chunk is number `first` at `offset`; returns its
  /// length.
  Result<std::uint64_t> build(Sink& sink, std::uint64_t offset, std::size_t level,
                              std::uint64_t first) {
    if (level == entries_.size()) return build_chunk(sink, offset, first);
    const CodecChain& around = layout_.levels()[level].around;
    if (around.steps().empty()) return build_level(sink, offset, level, first);
    MemorySink inner;
    ZARRFS_TRY(const std::uint64_t length, build_level(inner, 0, level, first));
    ZARRFS_TRY(const Bytes encoded, around.encode(ByteView(inner.bytes()).first(length)));
    ZARRFS_CHECK(sink.write(offset, encoded));
    return encoded.size();
  }

 private:
  Result<std::uint64_t> build_chunk(Sink& sink, std::uint64_t offset, std::uint64_t number) {
    const ChunkOrigin& source = chunks_.at(number);
    ZARRFS_CHECK(sink.copy(source, offset));
    return source.range.length;
  }

  Result<std::uint64_t> build_level(Sink& sink, std::uint64_t offset, std::size_t level,
                                    std::uint64_t first) {
    const auto make_format = [&]() -> Result<IndexFormat> {
      if (level == 0) return layout_.index_format_of(cell_);
      return layout_.index_format(level);
    };
    ZARRFS_TRY(const IndexFormat format, make_format());
    ShardIndex index = ShardIndex::empty(entries_[level]);
    std::uint64_t length = format.at_start() ? format.encoded_size() : 0;
    const std::uint64_t span = spans_[level + 1];
    auto next = chunks_.lower_bound(first);
    while (next != chunks_.end() && next->first < first + spans_[level]) {
      const std::uint64_t entry = (next->first - first) / span;
      const std::uint64_t inner_first = first + entry * span;
      ZARRFS_TRY(const std::uint64_t written, build(sink, offset + length, level + 1, inner_first));
      index.set(entry, {length, written});
      length += written;
      next = chunks_.lower_bound(inner_first + span);
    }
    ZARRFS_TRY(const Bytes encoded, index.encode(format));
    ZARRFS_CHECK(sink.write(offset + (format.at_start() ? 0 : length), encoded));
    return format.at_start() ? length : length + encoded.size();
  }

  const Layout& layout_;
  std::span<const std::uint64_t> cell_;
  const ChunkOrigins& chunks_;
  std::vector<std::uint64_t> entries_;
  std::vector<std::uint64_t> spans_;  // chunks below one entry of the level before
};

}  // namespace

Result<void> copy_source(NewFile& file, const ChunkOrigin& source, std::uint64_t offset) {
  if (source.file) return file.copy_range(*source.file, source.range, offset);
  return file.write_at(offset,
                       ByteView(*source.memory).subspan(source.range.offset, source.range.length));
}

Result<std::uint64_t> build_shard(NewFile& file, const Layout& layout,
                                  std::span<const std::uint64_t> cell, const ChunkOrigins& chunks) {
  FileSink sink(file);
  return Builder(layout, cell, chunks).build(sink, 0, 0, 0);
}

std::vector<std::uint64_t> entries_of(const Layout& layout, std::span<const std::uint64_t> cell,
                                      std::uint64_t number) {
  auto entries = level_entries(layout, cell);
  for (std::size_t level = entries.size(); level > 0; --level) {
    const std::uint64_t count = entries[level - 1];
    entries[level - 1] = number % count;
    number /= count;
  }
  return entries;
}

std::uint64_t count_of(const Layout& layout, std::span<const std::uint64_t> cell) {
  return checked_product(level_entries(layout, cell)).value_or(0);
}

}  // namespace zarrfs
