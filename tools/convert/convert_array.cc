#include "tools/convert/convert_array.h"

#include <algorithm>

#include "core/base/request.h"
#include "core/metadata/grid.h"
#include "tools/convert/chunks_ahead.h"
#include "tools/convert/shard_writer.h"
#include "tools/shared/console.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

constexpr std::size_t kTargetIndexCache = std::size_t{64} << 20U;

std::unique_ptr<ArrayReader> target_reader(const std::string& path, const ArrayPlan& plan,
                                           Target& target) {
  return std::make_unique<ArrayReader>(target.shared_store(), path, plan.metadata, plan.layout,
                                       std::make_shared<IndexCache>(kTargetIndexCache),
                                       std::make_shared<ReadCounters>());
}

Result<bool> same_chunk(const ChunkBytes& a, const ChunkBytes& b) {
  if (a.file && b.file) return same_bytes(*a.file, a.range, *b.file, b.range);
  ZARRFS_TRY(const Bytes bytes_a, a.read());
  ZARRFS_TRY(const Bytes bytes_b, b.read());
  return bytes_a == bytes_b;
}

// What differs of one chunk; empty where nothing does.
Result<std::string> check_chunk(ArrayReader& source, ArrayReader& target,
                                const std::vector<std::uint64_t>& chunk, bool bytes) {
  ZARRFS_TRY(const auto wanted, source.find_chunk(chunk));
  const auto got = target.find_chunk(chunk);
  if (!got) return got.error().message;
  const auto name = [&] { return shown_path(source.path()) + " chunk " + dotted(chunk); };
  if (wanted.has_value() != got->has_value()) {
    return name() + (wanted ? " is missing in the new store" : " is not in the source");
  }
  if (!wanted) return std::string();
  if (wanted->range.length != (*got)->range.length) {
    return name() + " has " + std::to_string((*got)->range.length) + " bytes instead of " +
           std::to_string(wanted->range.length);
  }
  if (!bytes) return std::string();
  ZARRFS_TRY(const bool same, same_chunk(*wanted, **got));
  return same ? std::string() : name() + " has other bytes than in the source";
}

// The objects of `to` that hold an element of one of the objects `cells` of `from`.
std::vector<std::uint64_t> touched_cells(const Grid& from, const Grid& to,
                                         const std::vector<std::uint64_t>& cells) {
  const auto from_counts = from.counts();
  const auto to_counts = to.counts();
  const std::size_t rank = from_counts.size();
  std::vector<std::uint64_t> touched;
  for (const std::uint64_t linear : cells) {
    const auto cell = coordinates_of(linear, from_counts);
    std::vector<std::uint64_t> first(rank);
    std::vector<std::uint64_t> span(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const AxisGrid& edges = from.axes[axis];
      const std::uint64_t begin = edges.begin(cell[axis]);
      const std::uint64_t last =
          begin + std::min(edges.edge(cell[axis]), edges.extent() - begin) - 1;
      first[axis] = to.axes[axis].find(begin);
      span[axis] = to.axes[axis].find(last) - first[axis] + 1;
    }
    const std::uint64_t count = checked_product(span).value_or(0);
    for (std::uint64_t i = 0; i < count && !request_ended(); ++i) {
      auto there = coordinates_of(i, span);
      for (std::size_t axis = 0; axis < rank; ++axis) there[axis] += first[axis];
      const std::uint64_t number = linear_of(there, to_counts);
      if (touched.empty() || touched.back() != number) touched.push_back(number);
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

class ShardConversion final : public Conversion {
 public:
  ShardConversion(const Source& source, const SourceArray& array, const ArrayPlan& plan,
                  const std::vector<std::uint64_t>& cells, Target& target)
      : layout_(plan.layout),
        from_(source.reader(array.path, array.node)),
        to_(target_reader(array.path, plan, target)),
        target_(target),
        cells_(touched_cells(from_->layout().grid(), layout_->grid(), cells)) {}

  [[nodiscard]] std::uint64_t pieces() const override { return cells_.size(); }

  Result<std::uint64_t> make(std::uint64_t piece) override {
    const auto cell = cell_of(piece);
    const std::string path = to_->shard_path(cell);
    const std::string temporary = temporary_beside(path);
    ZARRFS_TRY(const auto file, target_.create(temporary));
    const auto contents = write_shard(*file, *layout_, cell, *from_);
    if (!contents || contents->chunks == 0) {
      ZARRFS_CHECK(target_.store().remove(temporary));
      if (!contents) return fail(contents.error());
      return 0;
    }
    target_.complete(*file, contents->bytes);
    ZARRFS_CHECK(target_.store().rename(temporary, path));
    return contents->bytes;
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    std::string difference;
    ZARRFS_CHECK(for_each_chunk_of(
        *layout_, cell_of(piece), [&](const auto& chunk, std::uint64_t) -> Result<void> {
          if (!difference.empty()) return {};
          if (interrupted()) return fail(interruption());
          ZARRFS_TRY(difference, check_chunk(*from_, *to_, chunk, bytes));
          return {};
        }));
    return difference;
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> cell_of(std::uint64_t piece) const {
    return coordinates_of(cells_[piece], layout_->grid().counts());
  }

  std::shared_ptr<const Layout> layout_;
  std::unique_ptr<ArrayReader> from_;
  std::unique_ptr<ArrayReader> to_;
  Target& target_;
  std::vector<std::uint64_t> cells_;
};

// The chunks that the shard at `cell` holds, sorted by where they lie in it.
Result<std::vector<std::vector<std::uint64_t>>> chunks_in(ArrayReader& reader,
                                                          const std::vector<std::uint64_t>& cell) {
  std::vector<std::vector<std::uint64_t>> chunks;
  if (!reader.layout().sharded()) {
    chunks.push_back(cell);
    return chunks;
  }
  std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> placed;
  ZARRFS_CHECK(reader.visit_shard(cell, 0, [&](const ArrayReader::Visited& visited) {
    placed.emplace_back(visited.range.offset, visited.chunk);
    return true;
  }));
  std::sort(placed.begin(), placed.end());
  for (auto& [offset, chunk] : placed) chunks.push_back(std::move(chunk));
  return chunks;
}

class UnshardConversion final : public Conversion {
 public:
  UnshardConversion(const Source& source, const SourceArray& array, const ArrayPlan& plan,
                    std::vector<std::uint64_t> cells, Target& target)
      : from_(source.reader(array.path, array.node)),
        to_(target_reader(array.path, plan, target)),
        target_(target),
        cells_(std::move(cells)),
        counts_(from_->layout().grid().counts()) {}

  [[nodiscard]] std::uint64_t pieces() const override { return cells_.size(); }

  Result<std::uint64_t> make(std::uint64_t piece) override {
    std::uint64_t bytes = 0;
    ZARRFS_TRY(const auto chunks, chunks_in(*from_, coordinates_of(cells_[piece], counts_)));
    ChunksAhead ahead([&](const auto& chunk, const ChunkBytes& stored) -> Result<void> {
      bytes += stored.range.length;
      return write_chunk(to_->shard_path(chunk), stored);
    });
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(auto found, from_->find_chunk(chunk));
      if (!found) continue;
      ZARRFS_CHECK(ahead.add(chunk, std::move(*found)));
    }
    ZARRFS_CHECK(ahead.finish());
    return bytes;
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    ZARRFS_TRY(const auto chunks, chunks_in(*from_, coordinates_of(cells_[piece], counts_)));
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(std::string difference, check_chunk(*from_, *to_, chunk, bytes));
      if (!difference.empty()) return difference;
    }
    return std::string();
  }

 private:
  Result<void> write_chunk(const std::string& path, const ChunkBytes& stored) {
    ZARRFS_TRY(const auto file, target_.create(path));
    if (stored.file) {
      ZARRFS_CHECK(file->copy_range(*stored.file, stored.range, 0));
    } else {
      ZARRFS_TRY(const Bytes bytes, stored.read());
      ZARRFS_CHECK(file->write_at(0, bytes));
    }
    return target_.complete_at(path, *file, stored.range.length);
  }

  std::unique_ptr<ArrayReader> from_;
  std::unique_ptr<ArrayReader> to_;
  Target& target_;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint64_t> counts_;
};

class ShownConversion final : public Conversion {
 public:
  ShownConversion(const Source& source, const SourceArray& array, Presentation shown,
                  std::vector<std::uint64_t> cells, Target& target)
      : from_(source.reader(array.path, array.node)),
        shown_(std::move(shown)),
        target_(target),
        cells_(std::move(cells)),
        counts_(from_->layout().grid().counts()) {}

  // Where missing chunks are shown as files, all objects are pieces, present or not.
  [[nodiscard]] std::uint64_t pieces() const override {
    return materialised() ? checked_product(from_->layout().chunk_counts()).value_or(0)
                          : cells_.size();
  }

  Result<std::uint64_t> make(std::uint64_t piece) override {
    std::uint64_t bytes = 0;
    ZARRFS_TRY(const auto chunks, chunks_of(piece));
    ChunksAhead ahead([&](const auto& chunk, const ChunkBytes& stored) -> Result<void> {
      ZARRFS_TRY(const Bytes shown, shown_bytes(stored));
      bytes += shown.size();
      return write_chunk(chunk, shown);
    });
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(auto found, from_->find_chunk(chunk));
      if (found) {
        ZARRFS_CHECK(ahead.add(chunk, std::move(*found)));
      } else if (materialised()) {
        bytes += shown_.fill_chunk->size();
        ZARRFS_CHECK(write_chunk(chunk, *shown_.fill_chunk));
      }
    }
    ZARRFS_CHECK(ahead.finish());
    return bytes;
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    ZARRFS_TRY(const auto chunks, chunks_of(piece));
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(const auto wanted, wanted_bytes(chunk));
      if (!wanted) continue;
      ZARRFS_TRY(const auto file, target_.store().open(path_of(chunk)));
      const bool right_size = file && file->size() == wanted->size();
      if (!right_size) return path_of(chunk) + " is missing or has another size";
      if (!bytes) continue;
      ZARRFS_TRY(const Bytes got, file->read_range({0, file->size()}));
      if (got != *wanted) return path_of(chunk) + " has other bytes than in the source";
    }
    return std::string();
  }

 private:
  [[nodiscard]] bool materialised() const {
    return shown_.materialise != Materialise::kOff && shown_.fill_chunk != nullptr;
  }

  [[nodiscard]] std::string path_of(const std::vector<std::uint64_t>& chunk) const {
    return join_path(from_->path(), shown_.keys.key(chunk));
  }

  Result<std::vector<std::vector<std::uint64_t>>> chunks_of(std::uint64_t piece) {
    if (materialised()) {
      std::vector<std::vector<std::uint64_t>> one;
      one.push_back(coordinates_of(piece, from_->layout().chunk_counts()));
      return one;
    }
    return chunks_in(*from_, coordinates_of(cells_[piece], counts_));
  }

  Result<std::optional<Bytes>> wanted_bytes(const std::vector<std::uint64_t>& chunk) {
    ZARRFS_TRY(const auto found, from_->find_chunk(chunk));
    if (!found) {
      if (!materialised()) return std::nullopt;
      return *shown_.fill_chunk;
    }
    ZARRFS_TRY(Bytes bytes, shown_bytes(*found));
    return bytes;
  }

  Result<Bytes> shown_bytes(const ChunkBytes& stored) {
    ZARRFS_TRY(const Bytes bytes, stored.read());
    return shown_.present(bytes);
  }

  Result<void> write_chunk(const std::vector<std::uint64_t>& chunk, const Bytes& bytes) {
    const std::string path = path_of(chunk);
    ZARRFS_TRY(const auto file, target_.create(path));
    ZARRFS_CHECK(file->write_at(0, bytes));
    return target_.complete_at(path, *file, bytes.size());
  }

  std::unique_ptr<ArrayReader> from_;
  Presentation shown_;
  Target& target_;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint64_t> counts_;
};

class CopyConversion final : public Conversion {
 public:
  CopyConversion(const Source& source, std::vector<std::string> files, Target& target)
      : from_(source.store), files_(std::move(files)), target_(target) {}

  [[nodiscard]] std::uint64_t pieces() const override { return files_.size(); }

  Result<std::uint64_t> make(std::uint64_t piece) override {
    ZARRFS_CHECK(target_.copy_file(*from_, files_[piece]));
    return 0;
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    const std::string& path = files_[piece];
    ZARRFS_TRY(const auto wanted, from_->open(path));
    ZARRFS_TRY(const auto got, target_.store().open(path));
    if (!wanted) return std::string();
    if (!got || got->size() != wanted->size()) return path + " is missing or has another size";
    const bool same_file = got->identity() == wanted->identity();
    if (!bytes || same_file) return std::string();
    ZARRFS_TRY(const bool same, same_bytes(*wanted, {0, wanted->size()}, *got, {0, got->size()}));
    return same ? std::string() : path + " has other bytes than in the source";
  }

 private:
  std::shared_ptr<Store> from_;
  std::vector<std::string> files_;
  Target& target_;
};

}  // namespace

std::unique_ptr<Conversion> shard_conversion(const Source& source, const SourceArray& array,
                                             const ArrayPlan& plan,
                                             const std::vector<std::uint64_t>& cells,
                                             Target& target) {
  return std::make_unique<ShardConversion>(source, array, plan, cells, target);
}

std::unique_ptr<Conversion> unshard_conversion(const Source& source, const SourceArray& array,
                                               const ArrayPlan& plan,
                                               std::vector<std::uint64_t> cells, Target& target) {
  return std::make_unique<UnshardConversion>(source, array, plan, std::move(cells), target);
}

std::unique_ptr<Conversion> shown_conversion(const Source& source, const SourceArray& array,
                                             Presentation shown, std::vector<std::uint64_t> cells,
                                             Target& target) {
  return std::make_unique<ShownConversion>(source, array, std::move(shown), std::move(cells),
                                           target);
}

std::unique_ptr<Conversion> copy_conversion(const Source& source, std::vector<std::string> files,
                                            Target& target) {
  return std::make_unique<CopyConversion>(source, std::move(files), target);
}

}  // namespace zarrfs::tools
