#include "core/zarr/array_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/store/store.h"
#include "core/zarr/open_hint.h"
#include "core/zarr/shard_reader.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

/// How often a shard is opened anew when it is changed in place under the reader.
constexpr int kAttempts = 3;

/// The largest decoded chunk.
constexpr std::uint64_t kMaxElementBytes = std::uint64_t{4} << 30U;

/// A file may not stand where a directory of shards belongs: they would be missing.
Result<void> check_absent(Store& store, const std::string& path) {
  if (!store.traits().directories) return {};
  for (std::string above = parent_path(path);; above = parent_path(above)) {
    ZARRFS_TRY(const auto status, store.status(above));
    if (status && S_ISDIR(status->st_mode)) return {};
    if (status) {
      return fail(Fault::kDamaged, above + ": a file stands where a directory of shards belongs");
    }
    if (above.empty()) return {};
  }
}

/// The open file of a shard; null where it is absent.
Result<std::shared_ptr<const File>> open_cell(Store& store, const std::string& path,
                                              const Layout& layout) {
  auto file = store.open_for(path, store.traits().near ? OpenHint{} : hint_for(layout));
  if (file && *file == nullptr) ZARRFS_CHECK(check_absent(store, path));
  if (file) return std::shared_ptr<const File>(std::move(*file));
  if (file.error().fault != Fault::kInvalid) return fail(std::move(file.error()));
  return fail(Fault::kDamaged, path + ": a directory stands where a chunk or shard belongs");
}

Result<std::shared_ptr<const File>> open_cell(Store& store, const std::string& path,
                                              const Layout& layout, ShardInHand* hand) {
  if (hand == nullptr) return open_cell(store, path, layout);
  if (hand->path == path) return hand->file;
  hand->path.reset();
  ZARRFS_TRY(hand->file, open_cell(store, path, layout));
  hand->path = path;
  return hand->file;
}

/// What is not in a shard as it was seen before may be in it now.
Result<void> check_absent_in(const File& shard, const std::string& path) {
  if (!shard.may_be_outdated()) return {};
  return fail(Fault::kIo, "shard " + path +
                              ": the chunk was absent before; the server does not "
                              "answer now");
}

/// Elements that all are `fill`, in memory form.
Result<Bytes> filled(const Elements& elements, const Bytes& fill, const std::string& name) {
  const bool variable = elements.type.variable_length();
  const std::uint64_t count = elements.count();
  const std::uint64_t item = fill.size() + (variable ? sizeof(std::uint32_t) : 0);
  const auto bytes = checked_multiply(count, item);
  const bool countable = !variable || (count <= std::numeric_limits<std::uint32_t>::max() &&
                                       fill.size() <= std::numeric_limits<std::uint32_t>::max());
  if (!bytes || *bytes > kMaxElementBytes || !countable) {
    return fail(Fault::kTooBig, name + ": a chunk of " + std::to_string(count) + " elements of " +
                                    std::to_string(item) + " bytes is too large to decode");
  }
  Bytes filled;
  filled.reserve(static_cast<std::size_t>(*bytes) + (variable ? sizeof(std::uint32_t) : 0));
  if (variable) append_little(filled, static_cast<std::uint32_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (variable) append_little(filled, static_cast<std::uint32_t>(fill.size()));
    filled.insert(filled.end(), fill.begin(), fill.end());
  }
  return filled;
}

std::string spell(std::span<const std::uint64_t> chunk) {
  std::string text = "chunk (";
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(chunk[axis]);
  }
  return text + ")";
}

/// Runs `action` again while it says that its file was changed under it.
template <class Action>
auto while_stale(const Action& action) {
  auto result = action();
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    if (result || result.error().fault != Fault::kStale) break;
    result = action();
  }
  return result;
}

}  // namespace

Result<Bytes> ChunkBytes::read(ReadCounters* counters) const {
  if (counters != nullptr) {
    ++counters->range_reads;
    counters->bytes += range.length;
  }
  if (file) return file->read_range(range);
  const auto first = memory->begin() + static_cast<std::ptrdiff_t>(range.offset);
  return Bytes(first, first + static_cast<std::ptrdiff_t>(range.length));
}

ArrayReader::ArrayReader(std::shared_ptr<Store> store, std::string path,
                         std::shared_ptr<const ArrayMetadata> metadata,
                         std::shared_ptr<const Layout> layout, std::shared_ptr<IndexCache> cache,
                         std::shared_ptr<ReadCounters> counters)
    : store_(std::move(store)),
      path_(std::move(path)),
      metadata_(std::move(metadata)),
      layout_(std::move(layout)),
      cache_(std::move(cache)),
      counters_(std::move(counters)) {}

std::string ArrayReader::shard_path(std::span<const std::uint64_t> cell) const {
  return join_path(path_, metadata_->key_encoding.key(cell));
}

Result<ChunkPlace> ArrayReader::place_of(std::span<const std::uint64_t> chunk) const {
  const auto& counts = layout_->chunk_counts();
  if (!std::equal(chunk.begin(), chunk.end(), counts.begin(), counts.end(), std::less<>())) {
    return fail(Fault::kInvalid, path_ + ": " + spell(chunk) + " is not in the array's grid");
  }
  ChunkPlace place = layout_->place_of(chunk);
  place.path = shard_path(place.cell);
  return place;
}

Result<std::optional<ChunkBytes>> ArrayReader::find_chunk(std::span<const std::uint64_t> chunk,
                                                          ShardInHand* hand) {
  ZARRFS_TRY(const ChunkPlace place, place_of(chunk));
  return find_at(place, hand);
}

Result<std::optional<ChunkBytes>> ArrayReader::find_at(const ChunkPlace& place, ShardInHand* hand) {
  const std::string& path = place.path;
  const auto look = [&]() -> Result<std::optional<ChunkBytes>> {
    ZARRFS_TRY(const std::shared_ptr<const File> file, open_cell(*store_, path, *layout_, hand));
    if (!file) return std::nullopt;
    ChunkBytes bytes{file, {0, file->size()}, nullptr, file->status()};
    const auto part = file->place();
    const bool is_part = part && part->as_stored;
    if (is_part) {
      bytes.file = part->whole;
      bytes.range = part->range;
    }
    if (!layout_->sharded()) return bytes;
    ShardReader shard(file, path, *layout_, place.cell, *cache_, *counters_);
    ZARRFS_TRY(auto extent, shard.locate(place.entries));
    if (!extent) {
      ZARRFS_CHECK(check_absent_in(*file, path));
      return std::nullopt;
    }
    const bool in_memory = extent->memory != nullptr;
    if (in_memory) bytes.file = nullptr;
    bytes.memory = std::move(extent->memory);
    const bool in_part = is_part && !in_memory;
    bytes.range = in_part ? range_within(part->range, extent->range) : extent->range;
    return bytes;
  };
  return while_stale([&] {
    auto found = look();
    if (!found && hand != nullptr) hand->path.reset();
    return found;
  });
}

Result<std::optional<struct stat>> ArrayReader::status_at(const std::string& shard_path) {
  ZARRFS_TRY(const auto status, store_->status(shard_path));
  if (!status || !S_ISDIR(status->st_mode)) return status;
  return fail(Fault::kDamaged, shard_path + ": a directory stands where a chunk or shard belongs");
}

Result<void> ArrayReader::visit_shard(std::span<const std::uint64_t> cell, std::uint64_t first,
                                      const std::function<bool(const Visited&)>& visit,
                                      ShardInHand* hand) {
  const std::string path = shard_path(cell);
  ZARRFS_TRY(const std::shared_ptr<const File> file, open_cell(*store_, path, *layout_, hand));
  if (!file) return {};
  const auto place = file->place();
  const FilePlace* const part = place && place->as_stored ? &*place : nullptr;
  if (layout_->sharded()) {
    ShardReader shard(file, path, *layout_, cell, *cache_, *counters_);
    if (part == nullptr) return shard.visit(first, visit);
    return shard.visit(first, [&](Visited one) {
      one.part = part;
      return visit(one);
    });
  }
  auto chunk = layout_->chunk_at({{cell.begin(), cell.end()}, {}});
  if (first == 0 && chunk) visit({0, std::move(*chunk), {0, file->size()}, {}, part});
  return {};
}

Result<Bytes> ArrayReader::read_elements(std::span<const std::uint64_t> chunk) {
  return while_stale([&]() -> Result<Bytes> {
    ZARRFS_TRY(const auto found, find_chunk(chunk));
    CodecChain of_cell;
    if (!layout_->regular()) {
      ZARRFS_TRY(of_cell, layout_->chain_of(layout_->place_of(chunk).cell));
    }
    const CodecChain& chain = layout_->regular() ? layout_->chunk_chain() : of_cell;
    const std::string name = path_ + ": " + spell(chunk);
    if (!found) return filled(chain.decoded(), metadata_->fill, name);
    ZARRFS_TRY(const Bytes stored, found->read(counters_.get()));
    auto elements = chain.decode(stored);
    if (!elements) {
      return fail(elements.error().fault, name + ": " + elements.error().message);
    }
    return elements;
  });
}

}  // namespace zarrfs
