// Where the bytes of shards lie, for commands that tell it.
#pragma once

#include <optional>
#include <string>

#include "core/store/store.h"
#include "core/zarr/array_reader.h"

namespace zarrfs::tools {

/// Where the bytes of a shard lie.
struct StoredPlace {
  std::string path;  ///< Of the file in the store.
  ByteRange range;
  bool in_place = true;     ///< Else the shard is made of those bytes, which have another form.
  std::uint64_t bytes = 0;  ///< Of the shard as it is told.
};
/// Of the shard that a reader finds under the key `path`; nothing where it is absent. Of volumes
/// of other formats it is the file that has the chunk.
Result<std::optional<StoredPlace>> place_of_object(Store& store, const std::string& path);

/// Of a chunk that was visited in the shard at `path`.
StoredPlace place_of_chunk(const ArrayReader::Visited& chunk, const std::string& path);

}  // namespace zarrfs::tools
