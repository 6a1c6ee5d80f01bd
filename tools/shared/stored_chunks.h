// The stored chunks of an array and where their bytes lie, for commands that tell it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/store.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

struct StoredChunk {
  std::vector<std::uint64_t> chunk;  ///< Coordinates in the grid of inner chunks.
  std::string path;                  ///< Of the file in the store.
  ByteRange range;                   ///< Of its bytes there.
  bool in_place = true;     ///< Else it is made of bytes of another form, or is in no such file.
  std::uint64_t bytes = 0;  ///< Of the chunk as it is told.
};

/// Whether every chunk that is stored is a range of a shard, whatever there is.
bool all_in_shards(const SourceArray& array);

/// Calls `visit` for each chunk that is stored, until it returns an error. Reads the index of each
/// shard. kDamaged where an index or an entry cannot be trusted; interruption() where the user
/// interrupts it.
Result<void> visit_stored_chunks(const Source& source, const SourceArray& array,
                                 const std::function<Result<void>(const StoredChunk&)>& visit);

}  // namespace zarrfs::tools
