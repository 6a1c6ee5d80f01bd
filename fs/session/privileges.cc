#include "fs/session/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zarrfs {

Result<void> drop_privileges() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) {
    return fail(system_error(errno, "reading the capabilities of this process"));
  }
  constexpr unsigned kKept = CAP_TO_MASK(CAP_CHOWN) | CAP_TO_MASK(CAP_DAC_OVERRIDE) |
                             CAP_TO_MASK(CAP_DAC_READ_SEARCH) | CAP_TO_MASK(CAP_FOWNER) |
                             CAP_TO_MASK(CAP_SETUID) | CAP_TO_MASK(CAP_SETGID) |
                             CAP_TO_MASK(CAP_SYS_ADMIN);
  data[0].effective &= kKept;
  data[0].permitted &= kKept;
  data[1].effective = data[1].permitted = 0;
  data[0].inheritable = data[1].inheritable = 0;
  if (::syscall(SYS_capset, &header, data) == 0) return {};
  return fail(system_error(errno, "giving up capabilities"));
}

}  // namespace zarrfs
