#include "core/store/store_users.h"

#include "core/base/request.h"
#include "core/store/as_caller.h"

namespace zarrfs {

Result<void> check_caller_may_write(Store& store, const std::string& path) {
  StoreUsers* users = users_of(store);
  if (users == nullptr || foreign_caller() == nullptr) return {};
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return users->may_write(path);
}

}  // namespace zarrfs
