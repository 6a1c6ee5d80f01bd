#include "core/zarr/ways.h"

namespace zarrfs {

Result<void> Ways::enter(const struct stat& status, const std::string& path) {
  if (++ways_[{status.st_dev, status.st_ino}] <= kMost) return {};
  return fail(Fault::kLoop, path + ": more than " + std::to_string(kMost) +
                                " ways lead to this directory; not entered again");
}

Result<void> Ways::enter(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto status, store.status(path));
  return status ? enter(*status, path) : Result<void>{};
}

}  // namespace zarrfs
