// Who may use what is shown on a mount for other users: what the permissions of the stored files
// say, and those of the directories above them that the view does not show. Thread-safe.
//
// The kernel checks the modes that are shown, by class: owner, group, others. Where two stored
// files, or an access list, would tell members of one class apart, the class gets what all of its
// members may.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <string>

#include "core/base/recently_used.h"
#include "core/store/store.h"

namespace zarrfs {

struct Permissions {
  uid_t owner = 0;
  gid_t group = 0;
  mode_t bits = 0;  ///< 0777.
  bool operator==(const Permissions&) const = default;
};

Permissions permissions_of(const struct stat& status);

/// What is left to the owner and group of `first` of what they need both for.
Permissions both(const Permissions& first, const Permissions& second);

/// The same of a file that is reached through `directory`.
Permissions behind(const Permissions& file, const Permissions& directory);

class StoredPermissions {
 public:
  explicit StoredPermissions(std::shared_ptr<Store> store);

  /// Whether the store's mount serves others (StoreUsers::serve_others): else nobody need ask.
  [[nodiscard]] bool wanted() const { return wanted_; }

  /// Of the file or directory at `path`, through the directories between `top` and it; nothing
  /// where there is none. What was learnt is taken for granted for a second.
  Result<std::optional<Permissions>> of(const std::string& path, const std::string& top) const;
  /// It has just been changed.
  void forget(const std::string& path) const { kept_.drop(path); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    Permissions permissions;
    Clock::time_point at;
  };
  Result<std::optional<Permissions>> of_one(const std::string& path) const;

  std::shared_ptr<Store> store_;
  const bool wanted_;
  mutable RecentlyUsed<std::string, std::shared_ptr<const Kept>> kept_;
};

}  // namespace zarrfs
