// The file mode creation mask of the program for which something is made: umask(2) is one for all
// threads of a process, unless a thread has parted from them.
#pragma once

#include <sys/types.h>

#include <optional>

namespace zarrfs {

/// Whether this thread has a mask of its own. The first call parts it from the others: what they
/// make their working directory from then on is not its own.
/// Source: unshare(2), CLONE_FS, which needs no privilege, but may be denied to a container.
bool has_own_umask();

/// Of a program that makes files of this mode, and directories that can be entered where files can
/// be read. The owner's bits are left out.
mode_t mask_that_makes(mode_t mode);

/// While it lives, this thread makes files and directories with the mask, where it can have one of
/// its own. The kernel applies it, and leaves it out where a directory has a default access list.
class WithUmask {
 public:
  /// Without a mask: as before.
  explicit WithUmask(std::optional<mode_t> mask);
  ~WithUmask();
  WithUmask(const WithUmask&) = delete;
  WithUmask& operator=(const WithUmask&) = delete;

  /// The innermost mask that this thread was given.
  static std::optional<mode_t> current();

 private:
  std::optional<mode_t> outer_;
  std::optional<mode_t> before_;  ///< Of the thread, where it was set.
};

}  // namespace zarrfs
