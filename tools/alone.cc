#include "tools/alone.h"

#include <filesystem>

#include "core/store/store.h"
#include "core/write/lock.h"
#include "core/write/log.h"
#include "core/write/write_buffer.h"

namespace zarrfs::tools {
namespace {

namespace fs = std::filesystem;

bool holds_node(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "zarr.json", error) || fs::exists(directory / ".zgroup", error);
}

/// Whether nobody has written to the store, and who asks must not: of a store around theirs.
bool is_not_ours(Store& store, const Error& error) {
  if (error.fault != Fault::kDenied && error.fault != Fault::kReadOnly) return false;
  const auto own = store.status(kLogDirectory);
  return own && !*own;
}

}  // namespace

Result<void> check_published(const std::string& directory) {
  ZARRFS_TRY(const auto store, open_store(directory, LinkPolicy::kInside));
  const auto in_directory = [&](const Error& error) {
    return fail(error.fault, directory + "/" + error.message);
  };
  const auto log = store->status(kLogPath);
  if (!log) return in_directory(log.error());
  const auto unpublished = has_unpublished(*store);
  if (!unpublished) return in_directory(unpublished.error());
  if (!*log && !*unpublished) return {};
  return fail(Fault::kBusy, directory +
                                " is mounted for writing, or has chunks that are not "
                                "published yet: unmount it, or run zarrfs recover");
}

Result<std::vector<StoreLock>> be_alone(const std::string& directory) {
  std::vector<StoreLock> locks;
  for (fs::path at = fs::absolute(directory); locks.empty() || holds_node(at);
       at = at.parent_path()) {
    ZARRFS_CHECK(check_published(at.string()));
    ZARRFS_TRY(std::shared_ptr<Store> store, open_store(at.string(), LinkPolicy::kInside));
    auto lock = lock_store(store);
    if (lock) {
      locks.push_back(std::move(*lock));
    } else if (locks.empty() || !is_not_ours(*store, lock.error())) {
      return fail(lock.error());
    }
    if (at == at.root_path()) break;
  }
  return locks;
}

}  // namespace zarrfs::tools
