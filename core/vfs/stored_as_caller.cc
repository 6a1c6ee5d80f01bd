#include "core/vfs/stored_as_caller.h"

#include "core/store/as_caller.h"
#include "core/store/store_links.h"

namespace zarrfs {

Result<void> make_as_caller(Store& store, const std::string& path, mode_t mode) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.make_directory(path, mode);
}

Result<void> make_link_as_caller(Store& store, const std::string& path, const std::string& target) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  StoreLinks* links = links_of(store);
  if (links != nullptr) return links->make_link(path, target);
  return fail(Fault::kForbidden, "/" + path + ": this store has no symbolic links");
}

Result<void> remove_as_caller(Store& store, const std::string& path) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.remove(path);
}

Result<void> remove_directory_as_caller(Store& store, const std::string& path) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.remove_directory(path);
}

Result<void> rename_as_caller(Store& store, const std::string& from, const std::string& to) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.rename(from, to);
}

Result<std::shared_ptr<File>> open_as_caller(Store& store, const std::string& path) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.open(path);
}

Result<Fd> open_plain_as_caller(Store& store, const std::string& path, int flags, mode_t mode) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.open_plain(path, flags, mode);
}

}  // namespace zarrfs
