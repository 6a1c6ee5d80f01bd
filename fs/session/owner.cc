#include "fs/session/owner.h"

#include <sys/syscall.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "fs/session/process.h"

namespace zarrfs {
namespace {

constexpr int kFieldsBetween = 19;  // of stat, from the program's name to starttime

}  // namespace

Result<std::uint64_t> start_of_process(const std::string& folder) {
  std::string text;
  std::getline(std::ifstream(folder + "/stat"), text, '\0');
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  std::istringstream fields(name_end == std::string::npos ? "" : text.substr(name_end + 1));
  std::string skipped;
  for (int field = 0; field < kFieldsBetween; ++field) fields >> skipped;
  std::uint64_t start = 0;
  if (fields >> start) return start;
  return fail(Fault::kIo, folder + "/stat does not tell when the process began");
}

Result<Fd> watch_owner(pid_t process) {
  const std::string called = "process " + std::to_string(process);
  Fd descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!descriptor.valid() && errno == ENOSYS) {
    return fail(Fault::kUnsupported, "this kernel has no pidfd_open, by which the end of " +
                                         called + " could be told; that needs Linux 5.3 or newer");
  }
  if (!descriptor.valid() && errno != ESRCH && errno != EINVAL && errno != ENOENT) {
    return fail(system_error(errno, "watching " + called));
  }
  if (!descriptor.valid() || is_readable(descriptor)) {
    return fail(Fault::kInvalid, "there is no " + called);
  }
  ZARRFS_TRY(const std::uint64_t began, start_of_process("/proc/" + std::to_string(process)));
  ZARRFS_TRY(const std::uint64_t own, start_of_process("/proc/self"));
  if (is_readable(descriptor)) return fail(Fault::kInvalid, "there is no " + called);
  if (began <= own) return descriptor;
  return fail(Fault::kInvalid, called +
                                   " began after this program was called: the one that was "
                                   "meant has ended, and its number is another's");
}

}  // namespace zarrfs
