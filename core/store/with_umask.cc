#include "core/store/with_umask.h"

#include <sched.h>
#include <sys/stat.h>

namespace zarrfs {
namespace {
thread_local std::optional<mode_t> innermost;
}  // namespace

bool has_own_umask() {
  thread_local const bool has = ::unshare(CLONE_FS) == 0;
  return has;
}

mode_t mask_that_makes(mode_t mode) {
  mode_t mask = 0;
  if ((mode & S_IRGRP) == 0) mask |= S_IRGRP | S_IXGRP;
  if ((mode & S_IWGRP) == 0) mask |= S_IWGRP;
  if ((mode & S_IROTH) == 0) mask |= S_IROTH | S_IXOTH;
  if ((mode & S_IWOTH) == 0) mask |= S_IWOTH;
  return mask;
}

WithUmask::WithUmask(std::optional<mode_t> mask) : outer_(innermost) {
  if (!mask) return;
  innermost = mask;
  if (has_own_umask()) before_ = ::umask(*mask);
}

WithUmask::~WithUmask() {
  if (before_) ::umask(*before_);
  innermost = outer_;
}

std::optional<mode_t> WithUmask::current() { return innermost; }

}  // namespace zarrfs
