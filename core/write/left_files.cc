#include "core/write/left_files.h"

#include <dirent.h>
#include <fcntl.h>

#include <functional>
#include <vector>

#include "core/base/path.h"
#include "core/base/request.h"
#include "core/log/cluster_file_systems.h"
#include "core/log/names_in_use.h"
#include "core/store/conditional_writer.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostSeen = 4096;

}  // namespace

bool LeftFiles::is_first(const std::string& directory) {
  const HeldLock lock(mutex_);
  if (seen_.size() == kMostSeen) seen_.clear();
  return seen_.insert(std::hash<std::string>{}(directory)).second;
}

void LeftFiles::look_again() {
  const HeldLock lock(mutex_);
  seen_.clear();
}

/// Where nobody else can be writing, or can have left chunks that only its log knows of. Whoever
/// writes a node below has `.zarrfs` there.
Result<bool> LeftFiles::may_remove(const std::string& directory) {
  if (conditional_writer_of(*parts_.store) != nullptr || !parts_.lock.has_all_above()) return false;
  ZARRFS_TRY(const std::string cluster, cluster_file_system_of(*parts_.store));
  if (!cluster.empty()) return false;
  for (std::string at = directory; !at.empty(); at = parent_path(at)) {
    ZARRFS_TRY(const auto own, parts_.store->status(join_path(at, kLogDirectory)));
    if (own) return false;
  }
  return true;
}

Result<int> LeftFiles::remove_unused(const std::string& directory) {
  ZARRFS_TRY(const bool may, may_remove(directory));
  if (!may) return 0;
  ZARRFS_TRY(Fd fd, parts_.store->open_plain(directory, O_RDONLY | O_DIRECTORY, 0));
  if (!fd.valid()) return 0;
  DIR* const opened = ::fdopendir(fd.get());
  if (opened == nullptr) return fail(system_error(errno, directory + ": listing"));
  fd.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(opened, ::closedir);
  std::set<std::string> parked;
  for (const ParkedWrite& one : parts_.parked.all()) {
    parked.insert(last_name(one.logged.open.successor_path));
  }
  int removed = 0;
  while (const struct dirent* const entry = ::readdir(opened)) {
    ZARRFS_CHECK(check_wanted());
    const std::string name = entry->d_name;
    if (!is_successor_name(name) || entry->d_type == DT_DIR || parked.contains(name)) continue;
    if (is_in_use(name)) continue;
    ZARRFS_CHECK(parts_.store->remove(join_path(directory, name)));
    ++removed;
  }
  return removed;
}

void LeftFiles::remove_from(const std::string& directory) {
  if (!is_first(directory)) return;
  const auto removed = remove_unused(directory);
  if (!removed) {
    parts_.options.log(true, "temporary files that were left stay: " + removed.error().message);
  } else if (*removed > 0) {
    parts_.options.log(false, directory + ": removed " + std::to_string(*removed) +
                                  " temporary files that a writer had left");
  }
}

}  // namespace zarrfs
