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
