#include "tools/shared/stored_place.h"

namespace zarrfs::tools {

Result<std::optional<StoredPlace>> place_of_object(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto file, store.open(path));
  if (file == nullptr) return std::nullopt;
  const auto place = file->place();
  if (!place) return StoredPlace{path, {0, file->size()}, true, file->size()};
  return StoredPlace{place->path, place->range, place->as_stored, file->size()};
}

StoredPlace place_of_chunk(const ArrayReader::Visited& chunk, const std::string& path) {
  if (chunk.part == nullptr) return {path, chunk.range, true, chunk.range.length};
  const ByteRange range = range_within(chunk.part->range, chunk.range);
  return {chunk.part->path, range, true, chunk.range.length};
}

}  // namespace zarrfs::tools
