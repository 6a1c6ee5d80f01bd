// What a mount for other users asks of a store whose files have owners. Thread-safe, as Store is.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// The part of a Store that knows owners and permissions. Of a mode given to a Store only the
/// permission bits (0777) ever count: no file is made with a set-user-ID bit.
class StoreUsers {
 public:
  virtual ~StoreUsers() = default;

  /// From now on others than the user of this process use the store. A link is followed only where
  /// everybody may search the directories that it leads through (else kDenied), and never on the
  /// way to what is changed. Called before anything else is.
  virtual void serve_others() = 0;
  [[nodiscard]] virtual bool serves_others() const = 0;

  /// kDenied where the user of this thread (see AsCaller) may not write to the file at `path`, or,
  /// where there is none, not make it: then the nearest directory above that exists tells. A
  /// directory at `path` must let him change its names.
  virtual Result<void> may_write(const std::string& path) = 0;

  /// The status of the file or directory at `path`, with the permission bits that it leaves to its
  /// owner, its group and all others: less than its mode says where an access list takes from some
  /// of them. Nothing where there is none.
  virtual Result<std::optional<struct stat>> permissions(const std::string& path) = 0;
};

/// The users' part of a store; null where its files have no owners.
inline StoreUsers* users_of(Store& store) { return store.users(); }

/// As StoreUsers::may_write, for the foreign_caller() of this request. Nobody is refused where
/// there is none, or where files have no owners.
Result<void> check_caller_may_write(Store& store, const std::string& path);

}  // namespace zarrfs
