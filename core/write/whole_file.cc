#include "core/write/whole_file.h"

#include "core/write/log.h"
#include "core/write/successor.h"

namespace zarrfs {
namespace {

Result<void> replace_by_way_of(Store& store, const std::string& temporary, const std::string& path,
                               mode_t mode,
                               const std::function<Result<void>(NewFile& file)>& fill) {
  ZARRFS_TRY(const auto file, store.create(temporary, mode));
  const auto write = [&]() -> Result<void> {
    ZARRFS_CHECK(fill(*file));
    ZARRFS_CHECK(file->sync());
    return store.rename(temporary, path);
  };
  auto written = write();
  if (!written) static_cast<void>(store.remove(temporary));  // the first error is the one to tell
  return written;
}

}  // namespace

Result<void> make_own_directory(Store& store) {
  auto made = store.make_directory(kLogDirectory, 0700);
  return made || made.error().fault == Fault::kExists ? Result<void>{} : made;
}

Result<std::string> new_temporary_path(Store& store) {
  ZARRFS_CHECK(make_own_directory(store));
  return new_successor_path(kLogPath);
}

Result<void> replace_file(Store& store, const std::string& path, mode_t mode,
                          const std::function<Result<void>(NewFile& file)>& fill) {
  ZARRFS_TRY(const std::string temporary, new_temporary_path(store));
  auto replaced = replace_by_way_of(store, temporary, path, mode, fill);
  if (replaced || replaced.error().fault != Fault::kCrossDevice) return replaced;
  // A part of the store lies on another file system.
  return replace_by_way_of(store, new_successor_path(path), path, mode, fill);
}

Result<void> write_text(NewFile& file, std::string_view text) {
  return file.write_at(0, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace zarrfs
