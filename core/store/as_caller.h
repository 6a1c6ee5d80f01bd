// Work done under the identity of who asked for it, so that the kernel decides what he may do.
// Source: setfsuid(2), setfsgid(2), setgroups(2), whose system calls change one thread only.
#pragma once

#include <sys/types.h>

#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// Whether this process may take the identity of others (CAP_SETUID, CAP_SETGID) and give files
/// away (CAP_CHOWN).
bool may_act_for_others();

/// As whom this thread uses files.
struct ThreadIdentity {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  [[nodiscard]] bool is_in(gid_t one) const;
};
ThreadIdentity thread_identity();

/// While it lives, this thread uses files as the foreign_caller() of its request, if there is one.
class AsCaller {
 public:
  /// kDenied where this process may not act for others, or the caller's groups are not known.
  static Result<AsCaller> begin();
  AsCaller(AsCaller&& other) noexcept;
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;
  AsCaller& operator=(AsCaller&&) = delete;
  /// Ends the process where this thread's own identity cannot be had back.
  ~AsCaller();

 private:
  AsCaller() = default;
  bool active_ = false;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::vector<gid_t> groups_;
};

}  // namespace zarrfs
