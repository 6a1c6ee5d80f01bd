// Goes through the shards of one array: what is there, how large, how much of it is dead,
// what is damaged. Source: ZEP 2 ("Binary shard format").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tools/shared/source.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {

/// One fault found in a store.
struct Damage {
  std::string array;               ///< Path of the array.
  std::string shard;               ///< Its path.
  std::string chunk;               ///< "1.2.3"; empty where the whole shard is concerned.
  std::optional<ByteRange> range;  ///< Of the chunk within the shard, where known.
  std::string reason;
};

struct Totals {
  std::uint64_t shards = 0;  ///< Shards.
  std::uint64_t object_bytes = 0;
  std::uint64_t chunks = 0;       ///< Inner chunks present.
  std::uint64_t chunk_bytes = 0;  ///< Their stored bytes.
  std::uint64_t index_bytes = 0;
  std::uint64_t dead_bytes = 0;  ///< Bytes of shards that neither an index nor a chunk uses.
  std::uint64_t damaged = 0;     ///< Shards or chunks.
  /// Bytes that the shards would be shorter if each chunk were written once behind the other.
  /// Fewer than dead_bytes where chunks share a range.
  std::uint64_t freeable_bytes = 0;
  Totals& operator+=(const Totals& other);
};

/// One chunk as a scan meets it.
struct ScannedChunk {
  const std::vector<std::uint64_t>& chunk;
  ByteRange range;
  bool damaged = false;
};

/// One shard, scanned.
struct ScannedShard {
  std::vector<std::uint64_t> cell;
  Totals totals;
};

struct ScanOptions {
  unsigned threads = 1;
  bool decode = false;  ///< Decode every chunk; otherwise only indexes are read.
  /// Chunks are made of other bytes, as those of other formats: the stored ones count.
  bool made = false;
  /// Each is called from one thread at a time; may be empty.
  std::function<void(const Damage&)> on_damage = {};
  std::function<void(const ScannedChunk&)> on_chunk = {};
  std::function<void(const ScannedShard&)> on_shard = {};
  /// Called from several threads, with the bytes of each shard that is done.
  std::function<void(std::uint64_t bytes)> on_progress = {};
};

/// Scans the shards `cells` (linear numbers) of the array that `reader` reads. Memory: the index
/// of one shard and, with `decode`, one chunk for each thread. Damage is not an Error.
Result<Totals> scan_array(ArrayReader& reader, const std::vector<std::uint64_t>& cells,
                          const ScanOptions& options);

}  // namespace zarrfs::tools
