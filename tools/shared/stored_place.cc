#include "tools/shared/stored_place.h"

#include <memory>

#include "core/store/part_file.h"

namespace zarrfs::tools {

Result<std::optional<StoredPlace>> place_of_object(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto file, store.open(path));
  if (file == nullptr) return std::nullopt;
  if (const auto part = std::dynamic_pointer_cast<const PartFile>(file)) {
    return StoredPlace{part->path(), part->range(), true};
  }
  const bool made = std::dynamic_pointer_cast<const MadeFile>(file) != nullptr;
  return StoredPlace{path, {0, file->size()}, !made};
}

}  // namespace zarrfs::tools
