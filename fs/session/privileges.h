// What the daemon may do beyond what its user may: as little as it needs.
#pragma once

#include "core/base/result.h"

namespace zarrfs {

/// Gives up the capabilities that serving a mount does not need, for this thread and all that it
/// starts. Kept: those for reading, making and owning the files of a store as the user who asks
/// (CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_SETUID, CAP_SETGID) and for
/// unmounting (CAP_SYS_ADMIN). CAP_FSETID goes: no file that it writes keeps a set-user-ID bit.
/// Source: capabilities(7).
Result<void> drop_privileges();

}  // namespace zarrfs
