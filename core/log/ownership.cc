#include "core/log/ownership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/request.h"
#include "core/store/access_list.h"

namespace zarrfs {
namespace {

constexpr mode_t kPermissionBits = 0777;
constexpr uid_t kSameUser = static_cast<uid_t>(-1);

/// Whether chown(2) said that this process may not, or that the file system has no owners.
bool may_not(int error_number) {
  return error_number == EPERM || error_number == EINVAL || error_number == EOPNOTSUPP ||
         error_number == ENOSYS;
}

/// `mode` where the group's members are others than before.
mode_t without_group(mode_t mode) { return (mode & ~mode_t{070}) | (mode & ((mode & 07) << 3U)); }

}  // namespace

Result<void> keep_ownership(const NewFile& made, const File& before) {
  const int file = made.descriptor();
  if (file < 0) return {};
  const struct stat& old = before.status();
  ZARRFS_TRY(const struct stat now, made.status());
  mode_t mode = old.st_mode & kPermissionBits;
  const bool given = now.st_uid == old.st_uid || ::fchown(file, old.st_uid, old.st_gid) == 0;
  if (!given && !may_not(errno)) {
    return fail(system_error(errno, before.name() + ": giving the new file its owner"));
  }
  const bool same_group = now.st_gid == old.st_gid || ::fchown(file, kSameUser, old.st_gid) == 0;
  if (!same_group) mode = without_group(mode);
  if (before.descriptor() >= 0 && same_group) copy_attributes(before.descriptor(), file);
  if (::fchmod(file, mode) == 0 || may_not(errno)) return {};
  return fail(system_error(errno, before.name() + ": giving the new file its mode"));
}

Result<void> give_to_caller(Store& store, const NewFile& made, const std::string& directory) {
  const Caller* caller = foreign_caller();
  if (caller == nullptr || made.descriptor() < 0) return {};
  ZARRFS_TRY(const auto above, store.status(directory));
  const bool handed_down = above && (above->st_mode & S_ISGID) != 0;
  const gid_t group = handed_down ? above->st_gid : caller->group;
  if (::fchown(made.descriptor(), caller->user, group) == 0) return {};
  return fail(system_error(
      errno, directory + ": giving a new file in it to user " + std::to_string(caller->user)));
}

}  // namespace zarrfs
