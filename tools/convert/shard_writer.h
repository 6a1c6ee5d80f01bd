// Writes one new shard from chunks that lie anywhere. Chunks are copied, never decoded.
// Source: ZEP 2 ("Binary shard format"). One thread at a time.
#pragma once

#include <functional>
#include <optional>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/zarr/array_reader.h"

namespace zarrfs::tools {

struct ShardContents {
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;  ///< Of the whole shard.
};

/// Writes the shard at `cell` of `layout` (one level of sharding, nothing around it) into the empty
/// file `out`: those chunks that `source`, an array of the same chunks, has, in C order, then the
/// index. Chunks that lie one behind the other in one file are copied as one range.
Result<ShardContents> write_shard(NewFile& out, const Layout& layout,
                                  std::span<const std::uint64_t> cell, ArrayReader& source);

/// Calls `visit` with the coordinates of each chunk of the shard at `cell` that lies within the
/// array, in C order, and with its entry number; stops at the first error. `layout` as above.
Result<void> for_each_chunk_of(
    const Layout& layout, std::span<const std::uint64_t> cell,
    const std::function<Result<void>(const std::vector<std::uint64_t>& chunk, std::uint64_t entry)>&
        visit);

}  // namespace zarrfs::tools
