#include "tests/support/write_fixture.h"

#include "core/write/shard_builder.h"
#include "core/zarr/tree.h"

namespace zarrfs::testing {
namespace {

constexpr std::uint64_t kPerShard = 4;

std::string codecs_of(Sharding sharding) {
  const std::string index =
      R"("index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}])";
  const auto sharded = [&](int chunk, const std::string& inner, const std::string& more) {
    return R"({"name":"sharding_indexed","configuration":{"chunk_shape":[)" +
           std::to_string(chunk) + R"(],"codecs":[)" + inner + "]," + index + more + "}}";
  };
  const std::string bytes = R"({"name":"bytes"})";
  switch (sharding) {
    case Sharding::kIndexAtEnd: return sharded(8, bytes, "");
    case Sharding::kIndexAtStart: return sharded(8, bytes, R"(,"index_location":"start")");
    case Sharding::kNested: return sharded(16, sharded(8, bytes, ""), "");
    case Sharding::kGzipAround:
      return sharded(8, bytes, "") + R"(,{"name":"gzip","configuration":{"level":1}})";
    case Sharding::kNone: return bytes;
  }
  return {};
}

std::uint64_t per_shard(const ArrayReader& array) {
  return array.layout().sharded() ? kPerShard : 1;
}

ChunkPlace place_of(const ArrayReader& array, std::uint64_t chunk) {
  const std::uint64_t coordinates[] = {chunk};
  return array.place_of(coordinates).value();
}

}  // namespace

const char* name_of(Sharding sharding) {
  switch (sharding) {
    case Sharding::kIndexAtEnd: return "index at the end";
    case Sharding::kIndexAtStart: return "index at the start";
    case Sharding::kNested: return "nested";
    case Sharding::kGzipAround: return "gzip around";
    case Sharding::kNone: return "not sharded";
  }
  return "";
}

std::shared_ptr<MemoryStore> make_store(Sharding sharding) {
  auto store = std::make_shared<MemoryStore>();
  store->write_file("zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":{}})");
  const std::string grid = sharding == Sharding::kNone ? "8" : "32";
  store->write_file(
      "a/zarr.json",
      R"({"zarr_format":3,"node_type":"array","shape":[64],"data_type":"uint8","fill_value":0,
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[)" +
          grid + R"(]}},
    "chunk_key_encoding":{"name":"default"},"attributes":{},"codecs":[)" +
          codecs_of(sharding) + "]}");
  return store;
}

std::shared_ptr<ArrayReader> open_array(const std::shared_ptr<Store>& store) {
  auto node = load_node(*store, "a");
  if (!node || !node->layout) return nullptr;
  return std::make_shared<ArrayReader>(store, "a", node->array, node->layout,
                                       std::make_shared<IndexCache>(std::size_t{1} << 20U),
                                       std::make_shared<ReadCounters>());
}

Result<Chunks> published(const std::shared_ptr<MemoryStore>& store) {
  const auto array = open_array(store);
  if (!array) return fail(Fault::kDamaged, "array a cannot be opened");
  Chunks chunks;
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
    const std::uint64_t coordinates[] = {chunk};
    ZARRFS_TRY(const auto found, array->find_chunk(coordinates));
    if (!found) continue;
    ZARRFS_TRY(chunks[chunk], found->read());
  }
  return chunks;
}

std::unique_ptr<Writer> Writer::open(const std::shared_ptr<Store>& store, WriteOptions options,
                                     Error* error) {
  auto writer = std::make_unique<Writer>();
  writer->array_ = open_array(store);
  auto buffer = WriteBuffer::open(store, std::move(options));
  if (!buffer || !writer->array_) {
    if (!buffer && error != nullptr) *error = buffer.error();
    return nullptr;
  }
  writer->buffer_ = std::move(*buffer);
  return writer;
}

Result<void> Writer::put(std::uint64_t chunk, ByteView bytes, bool quarantined) {
  const std::uint64_t n = per_shard(*array_);
  return buffer_->put(array_, {chunk / n}, chunk % n, bytes, quarantined);
}

bool Writer::is_logged(std::uint64_t chunk) const {
  const auto found = buffer_->find(*array_, place_of(*array_, chunk));
  return found && *found && (*found)->draft.sequence != 0;
}

Result<void> Writer::remove(std::uint64_t chunk) {
  const std::uint64_t n = per_shard(*array_);
  return buffer_->remove(array_, {chunk / n}, chunk % n);
}

Result<void> Writer::sync(std::uint64_t chunk) {
  const std::uint64_t cell[] = {chunk / per_shard(*array_)};
  return buffer_->sync(array_->shard_path(cell), chunk % per_shard(*array_));
}

Result<void> Writer::commit(std::uint64_t chunk) {
  const std::uint64_t cell[] = {chunk / per_shard(*array_)};
  return buffer_->commit(array_->shard_path(cell));
}

Result<std::optional<Bytes>> Writer::read(std::uint64_t chunk) {
  ZARRFS_TRY(const auto draft, buffer_->find(*array_, place_of(*array_, chunk)));
  if (draft) {
    if (draft->draft.removed) return std::nullopt;
    return draft->file->read_range(draft->draft.range);
  }
  const std::uint64_t coordinates[] = {chunk};
  ZARRFS_TRY(const auto found, array_->find_chunk(coordinates));
  if (!found) return std::nullopt;
  return found->read();
}

std::string log_of(MemoryStore& store) {
  constexpr std::size_t kLimit = std::size_t{1} << 20U;
  return (*store.read_document(kLogPath, kLimit))->text.substr(0, (*read_log(store))->bytes);
}

WriteOptions quiet_options() {
  WriteOptions options;
  options.background = false;
  return options;
}

Bytes chunk_of(std::uint64_t value) {
  Bytes bytes;
  append_little(bytes, value * 0x9E3779B97F4A7C15U + 1);
  return bytes;
}

}  // namespace zarrfs::testing
