#include "core/nodes/stored_permissions.h"

#include <utility>

#include "core/store/store_users.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostKept = 4096;
constexpr std::chrono::seconds kTakenForGranted{1};
constexpr mode_t kClass = 7;
constexpr mode_t kSearch = 1;

struct Classes {
  mode_t owner = 0;
  mode_t group = 0;
  mode_t others = 0;
};

Classes classes_of(mode_t bits) {
  return {(bits >> 6U) & kClass, (bits >> 3U) & kClass, bits & kClass};
}

}  // namespace

Permissions permissions_of(const struct stat& status) {
  return {status.st_uid, status.st_gid, status.st_mode & 0777U};
}

Permissions both(const Permissions& first, const Permissions& second) {
  const Classes a = classes_of(first.bits);
  const Classes b = classes_of(second.bits);
  const bool same_owner = first.owner == second.owner;
  const bool same_group = first.group == second.group;
  // Anybody but the owner of both may be the second file's owner, and of any group.
  const mode_t as_owner = same_owner ? kClass : b.owner;
  const mode_t as_group = same_group ? kClass : b.group;
  const mode_t owner = a.owner & (same_owner ? b.owner : b.group & b.others);
  const mode_t group = a.group & as_owner & (same_group ? b.group : b.group & b.others);
  const mode_t others = a.others & as_owner & as_group & b.others;
  return {first.owner, first.group, owner << 6U | group << 3U | others};
}

Permissions behind(const Permissions& file, const Permissions& directory) {
  const Classes through = classes_of(directory.bits);
  const auto all = [](mode_t bits) { return (bits & kSearch) != 0 ? kClass : 0; };
  Permissions searched = directory;
  searched.bits = all(through.owner) << 6U | all(through.group) << 3U | all(through.others);
  return both(file, searched);
}

StoredPermissions::StoredPermissions(std::shared_ptr<Store> store)
    : store_(std::move(store)),
      wanted_(users_of(*store_) != nullptr && users_of(*store_)->serves_others()),
      kept_(kMostKept) {}

Result<std::optional<Permissions>> StoredPermissions::of_one(const std::string& path) const {
  const auto now = Clock::now();
  if (const auto known = kept_.find(path)) {
    if (now - known->at < kTakenForGranted) return known->permissions;
    kept_.drop(path);
  }
  StoreUsers* users = users_of(*store_);
  ZARRFS_TRY(const auto status, users != nullptr ? users->permissions(path) : store_->status(path));
  if (!status) return std::nullopt;
  const Permissions permissions = permissions_of(*status);
  kept_.keep(path, std::make_shared<const Kept>(Kept{permissions, now}));
  return permissions;
}

Result<std::optional<Permissions>> StoredPermissions::of(const std::string& path,
                                                         const std::string& top) const {
  ZARRFS_TRY(auto permissions, of_one(path));
  if (!permissions) return permissions;
  for (std::string at = parent_path(path); at.size() > top.size(); at = parent_path(at)) {
    ZARRFS_TRY(const auto directory, of_one(at));
    if (!directory) return std::nullopt;
    permissions = behind(*permissions, *directory);
  }
  return permissions;
}

}  // namespace zarrfs
