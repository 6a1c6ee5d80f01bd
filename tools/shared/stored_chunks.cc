#include "tools/shared/stored_chunks.h"

#include <algorithm>

#include "core/formats/chunks_elsewhere.h"
#include "core/metadata/grid.h"
#include "tools/shared/console.h"
#include "tools/shared/stored_place.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {

bool all_in_shards(const SourceArray& array) {
  const Layout& layout = *array.node.node.layout;
  const auto& levels = layout.levels();
  return layout.sharded() && std::all_of(levels.begin(), levels.end(), [](const ShardLevel& level) {
           return level.around.steps().empty();  // these hide where in a shard its chunks lie
         });
}

Result<void> visit_stored_chunks(const Source& source, const SourceArray& array,
                                 const std::function<Result<void>(const StoredChunk&)>& visit) {
  const auto reader = source.reader(array.path, array.node);
  ZARRFS_TRY(const StoredShards stored,
             list_shards(*source.store, array.path, *array.node.node.array));
  const auto counts = reader->layout().grid().counts();
  const bool in_place = all_in_shards(array);
  ChunksElsewhere* const elsewhere = source.store->chunks_elsewhere();
  const auto has_file = [&](const std::string& file) {
    return elsewhere == nullptr || elsewhere->is_own_file(file);
  };
  for (const std::uint64_t linear : stored.cells) {
    if (interrupted()) return fail(interruption());
    const auto cell = coordinates_of(linear, counts);
    const std::string path = reader->shard_path(cell);
    if (!reader->layout().sharded()) {
      ZARRFS_TRY(const auto place, place_of_object(*source.store, path));
      if (!place) continue;
      const bool as_told = place->in_place && has_file(place->path);
      ZARRFS_CHECK(visit({cell, place->path, place->range, as_told, place->bytes}));
      continue;
    }
    Result<void> done;
    ZARRFS_CHECK(reader->visit_shard(cell, 0, [&](const ArrayReader::Visited& chunk) {
      const StoredPlace place = place_of_chunk(chunk, path);
      done = chunk.damage.empty() ? visit({chunk.chunk, place.path, place.range,
                                           in_place && has_file(place.path), chunk.range.length})
                                  : fail(Fault::kDamaged, path + ": " + chunk.damage);
      return done.has_value() && !interrupted();
    }));
    ZARRFS_CHECK(done);
    if (interrupted()) return fail(interruption());
  }
  return {};
}

}  // namespace zarrfs::tools
