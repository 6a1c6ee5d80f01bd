// Lays out the bytes of a shard file from chunks that lie elsewhere: any nesting, index at either
// end, codecs around sharding at any level. Source: ZEP 2, sharding_indexed. One thread at a time.
#pragma once

#include <map>
#include <memory>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// Where the bytes of a chunk are now: in a file, or in memory (never both).
struct ChunkOrigin {
  std::shared_ptr<const File> file;
  std::shared_ptr<const Bytes> memory;
  ByteRange range;  ///< Within the file, or within *memory.
};

/// C-order number of a chunk in its shard (all levels together) -> its bytes.
using ChunkOrigins = std::map<std::uint64_t, ChunkOrigin>;

/// Copies the bytes of `source` to `offset` of `file`: by range where they are in a file, sharing
/// blocks where that can be.
Result<void> copy_source(NewFile& file, const ChunkOrigin& source, std::uint64_t offset);

/// Writes a whole shard (or, where the array is not sharded, the one chunk) into the empty `file`,
/// chunks in C order. Returns its size. Memory: an index of each level; where codecs are around a
/// level, that level's whole shard.
Result<std::uint64_t> build_shard(NewFile& file, const Layout& layout,
                                  std::span<const std::uint64_t> cell, const ChunkOrigins& chunks);

/// Of a chunk's number in the shard at `cell` (ChunkPlace::number): the entry at each level.
std::vector<std::uint64_t> entries_of(const Layout& layout, std::span<const std::uint64_t> cell,
                                      std::uint64_t number);
/// How many such numbers there are; 0 where 64 bits do not hold it.
std::uint64_t count_of(const Layout& layout, std::span<const std::uint64_t> cell);

}  // namespace zarrfs
