// Reads the shards of one array: opens shards, loads and caches their indexes, and says
// where each chunk lies. Life of a read: chunk coordinates -> Layout::place_of -> shard file ->
// index entry (one per level) -> range.
//
// The first chunk of a shard costs two ranged reads (index, bytes), each next one: one.
// Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/metadata/metadata.h"
#include "core/store/store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// Counters of what was read from the store; shared by all readers of a mount.
struct ReadCounters {
  std::atomic<std::uint64_t> index_reads{0};
  std::atomic<std::uint64_t> index_hits{0};
  std::atomic<std::uint64_t> range_reads{0};  ///< Reads of chunk bytes.
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> whole_shards{
      0};  ///< Shards decoded as a whole (codecs around sharding).
};

/// The index of one open shard, or the whole of it where codecs around sharding hide the ranges.
/// Immutable.
class Shard {
 public:
  virtual ~Shard() = default;
  [[nodiscard]] virtual FileIdentity identity() const = 0;
  [[nodiscard]] virtual std::size_t memory() const = 0;
};

/// Shards of one store, the most recently used ones, by bytes: at most `max_bytes`, but the newest
/// one is always kept. Thread-safe.
class IndexCache {
 public:
  explicit IndexCache(std::size_t max_bytes);
  ~IndexCache();
  std::shared_ptr<const Shard> find(const std::string& path, const FileIdentity& identity);
  void insert(const std::string& path, std::shared_ptr<const Shard> shard);
  /// Forgets the shard at `path` and the shards within it.
  void drop(const std::string& path);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The bytes of one chunk: a range of a file, or bytes in memory.
struct ChunkBytes {
  std::shared_ptr<const File> file;     ///< Null where the bytes are in memory.
  ByteRange range;                      ///< Within the file, or within *memory.
  std::shared_ptr<const Bytes> memory;  ///< A shard that had to be decoded as a whole.
  struct stat shard_status {};          ///< Of the shard that the chunk came from.
  /// Which file that shard is.
  [[nodiscard]] FileIdentity shard() const { return identity_of(shard_status); }
  /// All of the chunk's stored bytes.
  [[nodiscard]] Result<Bytes> read(ReadCounters* counters = nullptr) const;
};

/// The shard that find_chunk looked into last.
struct ShardInHand {
  std::optional<std::string> path;
  std::shared_ptr<const File> file;  ///< Null where it is absent.
};

class ArrayReader {
 public:
  ArrayReader(std::shared_ptr<Store> store, std::string path,
              std::shared_ptr<const ArrayMetadata> metadata, std::shared_ptr<const Layout> layout,
              std::shared_ptr<IndexCache> cache, std::shared_ptr<ReadCounters> counters);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const ArrayMetadata& metadata() const { return *metadata_; }
  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] Store& store() const { return *store_; }

  /// The store path of the shard at `cell`.
  [[nodiscard]] std::string shard_path(std::span<const std::uint64_t> cell) const;

  /// Where a chunk's bytes are (chunk coordinates in array axes); nothing where the chunk is proven
  /// absent. kDamaged, with shard, entry and numbers in the message, where index or entry cannot be
  /// trusted.
  /// With `hand`, for many looks in a row, the shard that was looked into last is not opened anew:
  /// they show it as it was at the first of them.
  Result<std::optional<ChunkBytes>> find_chunk(std::span<const std::uint64_t> chunk,
                                               ShardInHand* hand = nullptr);
  /// The same in two steps, for callers that also need the place. kInvalid where the chunk is not
  /// in the array's grid.
  [[nodiscard]] Result<ChunkPlace> place_of(std::span<const std::uint64_t> chunk) const;
  Result<std::optional<ChunkBytes>> find_at(const ChunkPlace& place, ShardInHand* hand = nullptr);

  /// The state of the shard at `shard_path`: its status, nothing where it is absent.
  Result<std::optional<struct stat>> status_at(const std::string& shard_path);
  Result<std::optional<struct stat>> shard_status(std::span<const std::uint64_t> cell) {
    return status_at(shard_path(cell));
  }

  /// Calls `visit` for each chunk that the shard at `cell` lists, by number, from number `first`
  /// on; stops when `visit` returns false. Chunks outside the array are left out. An entry that is
  /// damaged is visited too (`damage` not empty), and so are all chunks of an inner shard whose
  /// index is damaged. An Error is about the shard as a whole. `hand`: as in find_chunk.
  struct Visited {
    /// C-order number of the entry; where shards are nested, the chunks of entry 0 come before
    /// those of entry 1.
    std::uint64_t number;
    std::vector<std::uint64_t> chunk;  ///< Chunk coordinates in array axes.
    ByteRange range;                   ///< Within the shard (decoded where codecs are around it).
    std::string damage;
    const FilePlace* part = nullptr;  ///< Where the shard lies if it is part of a stored file.
  };
  Result<void> visit_shard(std::span<const std::uint64_t> cell, std::uint64_t first,
                           const std::function<bool(const Visited&)>& visit,
                           ShardInHand* hand = nullptr);

  /// Decodes the elements of one chunk (full chunk shape, C order, little-endian): the fill value
  /// where it is absent.
  Result<Bytes> read_elements(std::span<const std::uint64_t> chunk);

 private:
  std::shared_ptr<Store> store_;
  std::string path_;
  std::shared_ptr<const ArrayMetadata> metadata_;
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<IndexCache> cache_;
  std::shared_ptr<ReadCounters> counters_;
};

}  // namespace zarrfs
