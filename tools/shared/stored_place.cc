#include "tools/shared/stored_place.h"

namespace zarrfs::tools {

Result<std::optional<StoredPlace>> place_of_object(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto file, store.open(path));
  if (file == nullptr) return std::nullopt;
  const auto place = file->place();
  if (place && place->as_stored) return StoredPlace{place->path, place->range, true};
  return StoredPlace{path, {0, file->size()}, !place};
}

StoredPlace place_of_chunk(const ArrayReader::Visited& chunk, const std::string& path) {
  if (chunk.part == nullptr) return {path, chunk.range};
  return {chunk.part->path, range_within(chunk.part->range, chunk.range)};
}

}  // namespace zarrfs::tools
