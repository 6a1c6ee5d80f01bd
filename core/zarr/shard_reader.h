// One open shard: loads the index of each level of it, through the cache, and says where its chunks
// lie. Source: ZEP 2, sharding_indexed; an inner shard is a whole shard of its own, whose offsets
// count from its own first byte.
//
// One thread at a time; several readers may share a file and a cache. Refers to what it was made
// with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/zarr/array_reader.h"
#include "core/zarr/layout.h"

namespace zarrfs {

class ShardReader {
 public:
  /// `path` is the shard's path in the store: its name in messages and in the cache.
  ShardReader(std::shared_ptr<const File> file, const std::string& path, const Layout& layout,
              std::span<const std::uint64_t> cell, IndexCache& cache, ReadCounters& counters);

  /// Bytes of the file, or of a shard that was decoded as a whole.
  struct Extent {
    std::shared_ptr<const Bytes> memory;  ///< Null where the bytes are the file's.
    ByteRange range;
  };

  /// The stored bytes of the chunk that has entry `entries[k]` at level k; nothing where an index
  /// says that it is missing.
  Result<std::optional<Extent>> locate(std::span<const std::uint64_t> entries);

  /// See ArrayReader::visit_shard.
  Result<void> visit(std::uint64_t first,
                     const std::function<bool(const ArrayReader::Visited&)>& visit);

 private:
  class Level;
  using LevelPointer = std::shared_ptr<const Level>;
  struct Walk;

  [[nodiscard]] Extent whole_file() const { return {nullptr, {0, file_->size()}}; }
  [[nodiscard]] std::string name_of(std::span<const std::uint64_t> entries) const;
  [[nodiscard]] std::string key_of(std::span<const std::uint64_t> entries) const;
  [[nodiscard]] bool is_chunk(std::span<const std::uint64_t> entries) const;

  /// Counts the chunks below one entry of each level.
  Result<void> count_below();
  Result<LevelPointer> level_at(std::span<const std::uint64_t> entries, const Extent& extent);
  Result<LevelPointer> load(std::span<const std::uint64_t> entries, const Extent& extent);
  [[nodiscard]] Result<Bytes> read(const Extent& extent, ByteRange range) const;
  [[nodiscard]] Extent within(const Level& level, const Extent& extent, ByteRange range) const;
  [[nodiscard]] std::string damage_of(const Level& level, std::span<const std::uint64_t> entries,
                                      const IndexEntry& entry) const;
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> first_chunk_at(
      std::span<const std::uint64_t> entries) const;

  Result<bool> visit_level(Walk& walk, const Extent& extent, std::uint64_t base);
  Result<bool> visit_entry(Walk& walk, const Level& level, const Extent& extent,
                           std::uint64_t number);
  Result<bool> visit_damaged(Walk& walk, std::uint64_t base, ByteRange range,
                             const std::string& damage);

  std::shared_ptr<const File> file_;
  const std::string& path_;
  const Layout& layout_;
  std::span<const std::uint64_t> cell_;
  IndexCache& cache_;
  ReadCounters& counters_;
  std::vector<std::uint64_t> entry_counts_;  // entries of one shard of each level
  std::vector<std::uint64_t> below_;         // chunks below one entry of each level
};

}  // namespace zarrfs
