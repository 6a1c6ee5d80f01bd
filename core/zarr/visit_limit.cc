#include "core/zarr/visit_limit.h"

namespace zarrfs {

Result<void> VisitLimit::enter(const struct stat& status, const std::string& path) {
  if (++visits_[{status.st_dev, status.st_ino}] <= kMost) return {};
  return fail(Fault::kLoop, path + ": more than " + std::to_string(kMost) +
                                " ways lead to this directory; not entered again");
}

Result<void> VisitLimit::enter(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto status, store.status(path));
  return status ? enter(*status, path) : Result<void>{};
}

}  // namespace zarrfs
