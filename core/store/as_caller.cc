#include "core/store/as_caller.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/base/request.h"

namespace zarrfs {
namespace {

// No user or group has this number: setting it changes nothing, and answers what is set.
constexpr auto kNobody = static_cast<unsigned>(-1);

/// The user and group whose rights this thread has to files. glibc's setgroups(2) would change all
/// threads of the process.
bool set_user(uid_t user) {
  ::syscall(SYS_setfsuid, user);
  return static_cast<uid_t>(::syscall(SYS_setfsuid, kNobody)) == user;
}

bool set_group(gid_t group) {
  ::syscall(SYS_setfsgid, group);
  return static_cast<gid_t>(::syscall(SYS_setfsgid, kNobody)) == group;
}

bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return groups;
}

bool has_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  constexpr unsigned kNeeded =
      CAP_TO_MASK(CAP_SETUID) | CAP_TO_MASK(CAP_SETGID) | CAP_TO_MASK(CAP_CHOWN);
  return (data[0].effective & kNeeded) == kNeeded;
}

}  // namespace

bool may_act_for_others() {
  static const bool may = has_capabilities();
  return may;
}

bool ThreadIdentity::is_in(gid_t one) const {
  return one == group || std::find(groups.begin(), groups.end(), one) != groups.end();
}

ThreadIdentity thread_identity() {
  return {static_cast<uid_t>(::syscall(SYS_setfsuid, kNobody)),
          static_cast<gid_t>(::syscall(SYS_setfsgid, kNobody)), own_groups()};
}

Result<AsCaller> AsCaller::begin() {
  AsCaller as;
  const Caller* asking = foreign_caller();
  if (asking == nullptr) return as;
  if (!may_act_for_others()) {
    return fail(Fault::kDenied,
                "user " + std::to_string(asking->user) + " changes nothing in a mount of user " +
                    std::to_string(::geteuid()) + ", who may not act for others (only root may)");
  }
  ZARRFS_TRY(const Caller caller, with_groups(*asking));
  as.groups_ = own_groups();
  as.user_ = ::geteuid();
  as.group_ = ::getegid();
  as.active_ = true;
  // The user comes last: the rights to set the others may go with it.
  const bool done = set_groups(*caller.groups) && set_group(caller.group) && set_user(caller.user);
  if (done) return as;
  return fail(Fault::kDenied,
              "the system does not let this process act for user " + std::to_string(caller.user));
}

AsCaller::AsCaller(AsCaller&& other) noexcept
    : active_(std::exchange(other.active_, false)),
      user_(other.user_),
      group_(other.group_),
      groups_(std::move(other.groups_)) {}

AsCaller::~AsCaller() {
  if (!active_) return;
  const int error_number = errno;
  if (!set_user(user_) || !set_group(group_) || !set_groups(groups_)) std::abort();
  errno = error_number;
}

}  // namespace zarrfs
