#include "core/log/whole_file.h"

#include "core/log/log.h"
#include "core/log/lost_races.h"
#include "core/log/names_in_use.h"
#include "core/log/successor.h"
#include "core/store/conditional_writer.h"

namespace zarrfs {
namespace {

/// `take_name` has the file that is complete take its name.
Result<void> replace_by_way_of(Store& store, const std::string& temporary, mode_t mode,
                               const std::function<Result<void>(NewFile& file)>& fill,
                               const std::function<Result<void>()>& take_name) {
  const NameInUse name = use_name(temporary);
  ZARRFS_TRY(const auto file, store.create(temporary, mode));
  const auto write = [&]() -> Result<void> {
    ZARRFS_CHECK(fill(*file));
    ZARRFS_CHECK(file->sync());
    return take_name();
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
  const auto by_way_of = [&](const std::string& temporary) {
    return replace_by_way_of(store, temporary, mode, fill,
                             [&] { return store.rename(temporary, path); });
  };
  ZARRFS_TRY(const std::string temporary, new_temporary_path(store));
  auto replaced = by_way_of(temporary);
  if (replaced || replaced.error().fault != Fault::kCrossDevice) return replaced;
  // A part of the store lies on another file system.
  return by_way_of(new_successor_path(path));
}

Result<void> replace_known_file(Store& store, const std::string& path, mode_t mode,
                                const FileIdentity& expected,
                                const std::function<Result<void>(NewFile& file)>& fill) {
  ConditionalWriter* const server = conditional_writer_of(store);
  if (server == nullptr) return replace_file(store, path, mode, fill);
  ZARRFS_TRY(const std::string temporary, new_temporary_path(store));
  return replace_by_way_of(store, temporary, mode, fill, [&]() -> Result<void> {
    const std::string note = temporary.substr(temporary.rfind('-') + 1);
    ZARRFS_CHECK(server->put(temporary, path, expected, note));
    return store.remove(temporary);
  });
}

Result<void> again_where_stale(const std::function<Result<void>()>& change) {
  Race race;
  for (;;) {
    auto done = change();
    if (done || done.error().fault != Fault::kStale || !race.lost()) return done;
  }
}

Result<void> write_text(NewFile& file, std::string_view text) {
  return file.write_at(0, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace zarrfs
