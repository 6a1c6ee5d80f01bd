#include "tools/shared/stored_place.h"

#include <memory>

#include "core/store/part_file.h"

namespace zarrfs::tools {

Result<std::optional<StoredPlace>> place_of_object(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto file, store.open(path));
  if (file == nullptr) return std::nullopt;
  if (const auto part = std::dynamic_pointer_cast<const PartFile>(file)) {
    return StoredPlace{part->path(), part->range(), true, file->size()};
  }
  if (const auto made = std::dynamic_pointer_cast<const MadeFile>(file)) {
    const MadeFile::Origin& origin = made->origin();
    ZARRFS_TRY(const std::uint64_t length, origin.length());
    return StoredPlace{origin.path, {origin.offset, length}, false, file->size()};
  }
  return StoredPlace{path, {0, file->size()}, true, file->size()};
}

}  // namespace zarrfs::tools
