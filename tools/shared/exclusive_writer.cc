#include "tools/shared/exclusive_writer.h"

#include <filesystem>

#include "core/log/lock.h"
#include "core/log/log.h"
#include "core/store/store.h"

namespace zarrfs::tools {
namespace {

namespace fs = std::filesystem;

bool holds_node(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "zarr.json", error) || fs::exists(directory / ".zgroup", error);
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

Result<StoreLock> lock_exclusively(const std::string& directory) {
  fs::path at = fs::absolute(directory);
  ZARRFS_CHECK(check_published(at.string()));
  while (at.has_relative_path()) {
    at = at.parent_path();
    if (!holds_node(at)) break;
    ZARRFS_CHECK(check_published(at.string()));
  }
  ZARRFS_TRY(std::shared_ptr<Store> store, open_store(directory, LinkPolicy::kInside));
  return lock_store(std::move(store));
}

}  // namespace zarrfs::tools
