#include "tools/convert/convert_array.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/request.h"
#include "core/metadata/grid.h"
#include "tools/convert/chunks_ahead.h"
#include "tools/convert/shard_writer.h"
#include "tools/shared/console.h"
#include "tools/shared/parallel.h"
#include "tools/shared/stored_shards.h"
#include "tools/shared/whole_files.h"

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
Result<std::string> check_chunk(ArrayReader& source, ArrayReader& target, WholeFiles& whole,
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
  if (wanted->file) ZARRFS_CHECK(whole.check(*wanted->file));
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

bool materialises(const Presentation& shown) {
  return shown.materialise != Materialise::kOff && shown.fill_chunk != nullptr;
}

class ShardConversion final : public Conversion {
 public:
  ShardConversion(const Source& source, const ArrayWork& work, std::vector<std::uint64_t> cells,
                  Target& target)
      : layout_(work.plan.layout),
        from_(source.reader(work.array.path, work.array.node)),
        whole_(*source.store),
        to_(target_reader(work.array.path, work.plan, target)),
        target_(target),
        cells_(std::move(cells)) {}

  [[nodiscard]] std::uint64_t pieces() const override { return cells_.size(); }

  Result<Made> make(std::uint64_t piece) override {
    const auto cell = cell_of(piece);
    ZARRFS_TRY(const bool anything, holds_anything(cell));
    if (!anything) return Made{};
    const std::string path = to_->shard_path(cell);
    const std::string temporary = target_.temporary_for(path);
    ZARRFS_TRY(const auto file, target_.create(temporary));
    const auto contents = write_shard(*file, *layout_, cell, *from_);
    if (!contents) {
      ZARRFS_CHECK(target_.store().remove(temporary));
      return fail(contents.error());
    }
    ZARRFS_CHECK(target_.name(*file, contents->bytes, temporary, path));
    return Made{1, contents->bytes};
  }

  // A shard that was made here has nothing between its chunks and its index.
  Result<std::optional<Made>> found(std::uint64_t piece) override {
    const auto cell = cell_of(piece);
    ZARRFS_TRY(const auto status, to_->shard_status(cell));
    if (!status) return std::nullopt;
    ZARRFS_TRY(const IndexFormat format, layout_->index_format_of(cell));
    std::uint64_t bytes = format.encoded_size();
    bool good = true;
    const auto visited = to_->visit_shard(cell, 0, [&](const ArrayReader::Visited& chunk) {
      good = good && chunk.damage.empty();
      bytes += chunk.range.length;
      return good;
    });
    if (!visited && visited.error().fault != Fault::kDamaged) return fail(visited.error());
    if (!visited || !good || bytes != static_cast<std::uint64_t>(status->st_size)) {
      return std::nullopt;
    }
    return Made{1, bytes};
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    std::string difference;
    ZARRFS_CHECK(for_each_chunk_of(
        *layout_, cell_of(piece), [&](const auto& chunk, std::uint64_t) -> Result<void> {
          if (!difference.empty()) return {};
          if (interrupted()) return fail(interruption());
          ZARRFS_TRY(difference, check_chunk(*from_, *to_, whole_, chunk, bytes));
          return {};
        }));
    return difference;
  }

 private:
  // Whether the source has a chunk of the shard: an empty one makes no file, and no directory.
  Result<bool> holds_anything(const std::vector<std::uint64_t>& cell) {
    bool any = false;
    ZARRFS_CHECK(
        for_each_chunk_of(*layout_, cell, [&](const auto& chunk, std::uint64_t) -> Result<void> {
          if (any) return {};
          if (interrupted()) return fail(interruption());
          ZARRFS_TRY(const auto found, from_->find_chunk(chunk));
          any = found.has_value();
          return {};
        }));
    return any;
  }

  [[nodiscard]] std::vector<std::uint64_t> cell_of(std::uint64_t piece) const {
    return coordinates_of(cells_[piece], layout_->grid().counts());
  }

  std::shared_ptr<const Layout> layout_;
  std::unique_ptr<ArrayReader> from_;
  WholeFiles whole_;
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
  UnshardConversion(const Source& source, const ArrayWork& work, std::vector<std::uint64_t> cells,
                    Target& target)
      : from_(source.reader(work.array.path, work.array.node)),
        whole_(*source.store),
        to_(target_reader(work.array.path, work.plan, target)),
        target_(target),
        cells_(std::move(cells)),
        counts_(from_->layout().grid().counts()) {}

  [[nodiscard]] std::uint64_t pieces() const override { return cells_.size(); }

  Result<Made> make(std::uint64_t piece) override {
    Made made;
    ZARRFS_TRY(const auto chunks, chunks_in(*from_, coordinates_of(cells_[piece], counts_)));
    PieceFiles files(target_);
    ChunksAhead ahead([&](const auto& chunk, const ChunkBytes& stored) -> Result<void> {
      ++made.objects;
      made.bytes += stored.range.length;
      return write_chunk(files, to_->shard_path(chunk), stored);
    });
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(auto found, from_->find_chunk(chunk));
      if (!found) continue;
      ZARRFS_CHECK(ahead.add(chunk, std::move(*found)));
    }
    ZARRFS_CHECK(ahead.finish());
    ZARRFS_CHECK(files.finish());
    return made;
  }

  Result<std::optional<Made>> found(std::uint64_t piece) override {
    Made made;
    ZARRFS_TRY(const auto chunks, chunks_in(*from_, coordinates_of(cells_[piece], counts_)));
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(const auto wanted, from_->find_chunk(chunk));
      if (!wanted) continue;
      ZARRFS_TRY(const auto status, target_.store().status(to_->shard_path(chunk)));
      const bool same_size =
          status && static_cast<std::uint64_t>(status->st_size) == wanted->range.length;
      if (!same_size) return std::nullopt;
      ++made.objects;
      made.bytes += wanted->range.length;
    }
    return made;
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    ZARRFS_TRY(const auto chunks, chunks_in(*from_, coordinates_of(cells_[piece], counts_)));
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(std::string difference, check_chunk(*from_, *to_, whole_, chunk, bytes));
      if (!difference.empty()) return difference;
    }
    return std::string();
  }

 private:
  static Result<void> write_chunk(PieceFiles& files, const std::string& path,
                                  const ChunkBytes& stored) {
    ZARRFS_TRY(const auto file, files.create(path));
    if (stored.file) {
      ZARRFS_CHECK(file->copy_range(*stored.file, stored.range, 0));
    } else {
      ZARRFS_TRY(const Bytes bytes, stored.read());
      ZARRFS_CHECK(file->write_at(0, bytes));
    }
    return files.complete(path, *file, stored.range.length);
  }

  std::unique_ptr<ArrayReader> from_;
  WholeFiles whole_;
  std::unique_ptr<ArrayReader> to_;
  Target& target_;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint64_t> counts_;
};

class ShownConversion final : public Conversion {
 public:
  ShownConversion(const Source& source, const ArrayWork& work, std::vector<std::uint64_t> cells,
                  Target& target)
      : from_(source.reader(work.array.path, work.array.node)),
        whole_(*source.store),
        shown_(*work.shown),
        target_(target),
        cells_(std::move(cells)),
        counts_(from_->layout().grid().counts()) {}

  [[nodiscard]] std::uint64_t pieces() const override { return cells_.size(); }

  Result<Made> make(std::uint64_t piece) override {
    Made made;
    ZARRFS_TRY(const auto chunks, chunks_of(piece));
    PieceFiles files(target_);
    const auto write = [&](const auto& chunk, const Bytes& bytes) {
      ++made.objects;
      made.bytes += bytes.size();
      return write_chunk(files, path_of(chunk), bytes);
    };
    ChunksAhead ahead([&](const auto& chunk, const ChunkBytes& stored) -> Result<void> {
      ZARRFS_TRY(const Bytes shown, shown_bytes(stored));
      return write(chunk, shown);
    });
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(auto found, from_->find_chunk(chunk));
      if (found) {
        ZARRFS_CHECK(ahead.add(chunk, std::move(*found)));
      } else if (materialises(shown_)) {
        ZARRFS_CHECK(write(chunk, *shown_.fill_chunk));
      }
    }
    ZARRFS_CHECK(ahead.finish());
    ZARRFS_CHECK(files.finish());
    return made;
  }

  // Only decoding tells the size that a chunk has as it is shown.
  Result<std::optional<Made>> found(std::uint64_t piece) override {
    Made made;
    ZARRFS_TRY(const auto chunks, chunks_of(piece));
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(const auto stored, from_->find_chunk(chunk));
      if (!stored && !materialises(shown_)) continue;
      ZARRFS_TRY(const auto status, target_.store().status(path_of(chunk)));
      if (!status) return std::nullopt;
      ++made.objects;
      made.bytes += static_cast<std::uint64_t>(status->st_size);
    }
    return made;
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    ZARRFS_TRY(const auto chunks, chunks_of(piece));
    for (const auto& chunk : chunks) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(const auto wanted, wanted_bytes(chunk, bytes));
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
  [[nodiscard]] std::string path_of(const std::vector<std::uint64_t>& chunk) const {
    return join_path(from_->path(), shown_.keys.key(chunk));
  }

  Result<std::vector<std::vector<std::uint64_t>>> chunks_of(std::uint64_t piece) {
    if (materialises(shown_)) {
      std::vector<std::vector<std::uint64_t>> one;
      one.push_back(coordinates_of(cells_[piece], from_->layout().chunk_counts()));
      return one;
    }
    return chunks_in(*from_, coordinates_of(cells_[piece], counts_));
  }

  Result<std::optional<Bytes>> wanted_bytes(const std::vector<std::uint64_t>& chunk, bool checked) {
    ZARRFS_TRY(const auto found, from_->find_chunk(chunk));
    if (!found) {
      if (!materialises(shown_)) return std::nullopt;
      return *shown_.fill_chunk;
    }
    if (checked && found->file) ZARRFS_CHECK(whole_.check(*found->file));
    ZARRFS_TRY(Bytes bytes, shown_bytes(*found));
    return bytes;
  }

  Result<Bytes> shown_bytes(const ChunkBytes& stored) {
    ZARRFS_TRY(const Bytes bytes, stored.read());
    return shown_.present(bytes);
  }

  static Result<void> write_chunk(PieceFiles& files, const std::string& path, const Bytes& bytes) {
    ZARRFS_TRY(const auto file, files.create(path));
    ZARRFS_CHECK(file->write_at(0, bytes));
    return files.complete(path, *file, bytes.size());
  }

  std::unique_ptr<ArrayReader> from_;
  WholeFiles whole_;
  Presentation shown_;
  Target& target_;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint64_t> counts_;
};

class CopyConversion final : public Conversion {
 public:
  using Name = std::function<std::string(std::uint64_t piece)>;

  CopyConversion(const Source& source, std::uint64_t pieces, Name name, Target& target)
      : from_(source.store), pieces_(pieces), name_(std::move(name)), target_(target) {}

  [[nodiscard]] std::uint64_t pieces() const override { return pieces_; }

  Result<Made> make(std::uint64_t piece) override {
    ZARRFS_TRY(const auto bytes, target_.copy_file(*from_, name_(piece)));
    return bytes ? Made{1, *bytes} : Made{};
  }

  Result<std::optional<Made>> found(std::uint64_t piece) override {
    const std::string path = name_(piece);
    ZARRFS_TRY(const auto got, target_.store().status(path));
    if (!got) return std::nullopt;
    ZARRFS_TRY(const auto wanted, from_->status(path));
    if (!wanted || wanted->st_size != got->st_size) return std::nullopt;
    return Made{1, static_cast<std::uint64_t>(got->st_size)};
  }

  Result<std::string> check(std::uint64_t piece, bool bytes) override {
    const std::string path = name_(piece);
    ZARRFS_TRY(const auto wanted, from_->open(path));
    if (!wanted) return std::string();
    ZARRFS_TRY(const auto got, target_.store().open(path));
    if (!got || got->size() != wanted->size()) return path + " is missing or has another size";
    const bool same_file = got->identity() == wanted->identity();
    if (!bytes || same_file) return std::string();
    ZARRFS_TRY(const bool same, same_bytes(*wanted, {0, wanted->size()}, *got, {0, got->size()}));
    return same ? std::string() : path + " has other bytes than in the source";
  }

 private:
  std::shared_ptr<Store> from_;
  std::uint64_t pieces_;
  Name name_;
  Target& target_;
};

const Layout& source_layout(const ArrayWork& work) { return *work.array.node.node.layout; }

bool makes_shards(const ArrayWork& work) {
  return !work.copied && !work.shown && work.plan.action == ArrayPlan::Action::kShard;
}

}  // namespace

bool makes_all_chunks(const ArrayWork& work) {
  return !work.copied && work.shown && materialises(*work.shown);
}

const Grid& grid_of_pieces(const ArrayWork& work) {
  return makes_shards(work) ? work.plan.layout->grid() : source_layout(work).grid();
}

std::optional<std::uint64_t> count_pieces(const ArrayWork& work) {
  if (makes_all_chunks(work)) return checked_product(source_layout(work).chunk_counts());
  return grid_of_pieces(work).count();
}

std::vector<std::uint64_t> pieces_of(const ArrayWork& work, std::vector<std::uint64_t> cells) {
  if (makes_all_chunks(work)) {
    std::vector<std::uint64_t> all(count_pieces(work).value_or(0));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  if (!makes_shards(work)) return cells;
  return touched_cells(source_layout(work).grid(), work.plan.layout->grid(), cells);
}

std::unique_ptr<Conversion> array_conversion(const Source& source, const ArrayWork& work,
                                             std::vector<std::uint64_t> numbers, Target& target) {
  if (work.copied) {
    const std::uint64_t count = numbers.size();
    std::shared_ptr<ArrayReader> reader = source.reader(work.array.path, work.array.node);
    const auto name = [reader, numbers = std::move(numbers)](std::uint64_t piece) {
      return reader->shard_path(coordinates_of(numbers[piece], reader->layout().grid().counts()));
    };
    return std::make_unique<CopyConversion>(source, count, name, target);
  }
  if (work.shown) {
    return std::make_unique<ShownConversion>(source, work, std::move(numbers), target);
  }
  if (makes_shards(work)) {
    return std::make_unique<ShardConversion>(source, work, std::move(numbers), target);
  }
  return std::make_unique<UnshardConversion>(source, work, std::move(numbers), target);
}

Result<void> for_each_piece(
    const Console& console, const std::string& what, unsigned threads,
    const Conversions& conversions,
    const std::function<Result<void>(Conversion&, std::uint64_t piece)>& work) {
  std::vector<std::uint64_t> ends;
  std::uint64_t total = 0;
  for (const auto& conversion : conversions) {
    total += conversion->pieces();
    ends.push_back(total);
  }
  Progress progress(console, what, total, "files");
  return parallel_for(total, threads, [&](std::uint64_t i) -> Result<void> {
    const auto which =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), i) - ends.begin());
    const std::uint64_t first = which == 0 ? 0 : ends[which - 1];
    ZARRFS_CHECK(work(*conversions[which], i - first));
    progress.add(1);
    return {};
  });
}

std::unique_ptr<Conversion> copy_conversion(const Source& source, std::vector<std::string> files,
                                            Target& target) {
  const std::uint64_t count = files.size();
  const auto name = [files = std::move(files)](std::uint64_t piece) { return files[piece]; };
  return std::make_unique<CopyConversion>(source, count, name, target);
}

}  // namespace zarrfs::tools
