// A small sharded array in a MemoryStore and a writer on it. For tests of the write path.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/write/write_buffer.h"
#include "core/zarr/array_reader.h"
#include "tests/support/memory_store.h"

namespace zarrfs::testing {

/// How the array "a" of make_store is sharded. Each has 2 shards of 4 chunks of 8 bytes, type
/// uint8.
enum class Sharding { kIndexAtEnd, kIndexAtStart, kNested, kGzipAround, kNone };
const char* name_of(Sharding sharding);

/// A store with one group and the array "a", without chunks.
std::shared_ptr<MemoryStore> make_store(Sharding sharding);

/// A reader of array "a" with a cache of its own, or null where it cannot be loaded.
std::shared_ptr<ArrayReader> open_array(const std::shared_ptr<Store>& store);

/// Chunks of one array: number in the whole array (0 to 7) -> stored bytes.
using Chunks = std::map<std::uint64_t, Bytes>;

/// Reads all published chunks with nothing but the reader: an Error where a shard is damaged.
Result<Chunks> published(const std::shared_ptr<MemoryStore>& store);

/// Writer and array together, addressed by the chunk's number in the array.
class Writer {
 public:
  /// Null where it cannot be opened; `error` says why.
  static std::unique_ptr<Writer> open(const std::shared_ptr<Store>& store, WriteOptions options,
                                      Error* error = nullptr);
  Result<void> put(std::uint64_t chunk, ByteView bytes, bool quarantined = false);
  Result<void> remove(std::uint64_t chunk);
  /// Whether the latest write of the chunk, which is not published yet, is in the log.
  [[nodiscard]] bool is_logged(std::uint64_t chunk) const;
  Result<void> sync(std::uint64_t chunk);
  Result<void> commit(std::uint64_t chunk);
  /// What a reader inside sees: the draft, or what is published.
  Result<std::optional<Bytes>> read(std::uint64_t chunk);
  WriteBuffer& buffer() { return *buffer_; }

 private:
  std::shared_ptr<ArrayReader> array_;
  std::unique_ptr<WriteBuffer> buffer_;
};

/// The records of the log, without the zeros behind them.
std::string log_of(MemoryStore& store);

/// Options without a thread in the background.
WriteOptions quiet_options();

/// The stored bytes of value `value`, for a chunk of the fixture's array: 8 bytes that differ from
/// any other value's.
Bytes chunk_of(std::uint64_t value);

}  // namespace zarrfs::testing
