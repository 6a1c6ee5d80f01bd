#include "fs/doctor/doctor.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/fd.h"
#include "core/base/result.h"
#include "fs/requests/fuse.h"
#include "fs/ring/ring_plan.h"

namespace zarrfs {
namespace {

constexpr rlim_t kFewFiles = 4096;  // Fewer may not do for listings by many threads.
constexpr rlim_t kTooFewFiles = 256;

Finding good(std::string text) { return {Verdict::kGood, std::move(text)}; }
Finding limited(std::string text) { return {Verdict::kLimited, std::move(text)}; }
Finding wrong(std::string text) { return {Verdict::kWrong, std::move(text)}; }

std::string problem(const std::string& what) { return system_error(errno, what).message; }

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

Finding look_at_kernel(const Machine& machine) {
  const std::string name = "Linux " + machine.kernel;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  const Fd here(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how)));
  if (here.valid()) return good(name);
  return wrong(problem(name + " (or a filter of system calls): openat2"));
}

Finding look_at_device(const Machine& machine) {
  const std::string path = machine.root + "/dev/fuse";
  const auto status = status_of(path);
  if (!status) return wrong(problem(path));
  if (!S_ISCHR(status->st_mode)) return wrong(path + " is not a character device");
  const Fd device(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!device.valid()) return wrong(problem(path + " cannot be opened"));
  return good(path + " can be opened");
}

Finding look_at_libfuse(const Machine&) {
  const std::string name = std::string("libfuse ") + ::fuse_pkgversion();
  // 3.13 is the first that hands a connection over; see CMakeLists.txt.
  if (::fuse_version() < FUSE_MAKE_VERSION(3, 13)) return wrong(name + " is older than 3.13");
  return good(name);
}

/// Without FUSE_NOTIFY_PRUNE the kernel can only be asked in a way that waits for its locks.
Finding look_at_names(const Machine& machine) {
  constexpr int kMajor = 6;
  constexpr int kMinor = 18;
  int major = 0;
  int minor = 0;
  char dot = 0;
  std::istringstream(machine.kernel) >> major >> dot >> minor;
  if (std::make_pair(major, minor) >= std::make_pair(kMajor, kMinor)) {
    return good("the kernel forgets names when it is asked to");
  }
  return limited("Linux " + machine.kernel +
                 " forgets names only when it needs memory itself: of a mount with millions of "
                 "files in use the daemon may hold more than memory=");
}

/// Mounting works without it, and slower.
Finding look_at_ring(const Machine& machine) {
  switch (ring_offer(machine.root)) {
    case RingOffer::kNone: return good("this kernel has no FUSE over io_uring (Linux 6.14 has)");
    case RingOffer::kUnset:
      return limited("fuse.enable_uring is not set: requests come by /dev/fuse");
    case RingOffer::kSet: break;
  }
  const auto processors = possible_processors(machine.root);
  if (!processors) return limited(processors.error().message);
  const auto plan = plan_ring(*processors, {}, kUsualRingPayload);
  if (!plan) return limited(plan.error().message + ": requests come by /dev/fuse");
  return good("fuse.enable_uring is set; a ring for each of " + std::to_string(*processors) +
              " processors");
}

std::optional<std::string> find_program(const Machine& machine, const std::string& program) {
  std::istringstream folders(machine.search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = machine.root + folder + "/" + program;
    const auto status = status_of(path);
    if (status && S_ISREG(status->st_mode) && (status->st_mode & S_IXUSR) != 0) return path;
  }
  return std::nullopt;
}

/// What is wrong for users who are not root, and hinders only those who are not.
Finding wrong_for_users(const Machine& machine, const std::string& text) {
  return machine.privileged ? limited(text + "; only root can mount") : wrong(text);
}

Finding look_at_fusermount(const Machine& machine) {
  const auto path = find_program(machine, "fusermount3");
  if (!path) return wrong_for_users(machine, "fusermount3 is not in PATH");
  const auto status = status_of(*path);
  if (!status || (status->st_mode & S_ISUID) == 0 ||
      (machine.root.empty() && status->st_uid != 0)) {
    return wrong_for_users(machine, *path + " is not set-user-id root");
  }
  return good(*path + " is set-user-id root");
}

Finding look_at_mtab(const Machine& machine) {
  const std::string path = machine.root + "/etc/mtab";
  if (status_of(path)) return good(path + " is there");
  return wrong_for_users(machine, problem(path) + ": fusermount3 cannot unmount");
}

Finding look_at_other_users(const Machine& machine) {
  const std::string path = machine.root + "/etc/fuse.conf";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == "user_allow_other") return good(path + " has user_allow_other");
  }
  return limited(path + " has no user_allow_other: only root can mount with allow_other");
}

Finding look_at_files(const Machine&) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wrong(problem("the limit of open files"));
  if (limit.rlim_max == RLIM_INFINITY) return good("open files are not limited");
  const std::string text = "at most " + std::to_string(limit.rlim_max) + " open files";
  if (limit.rlim_max < kTooFewFiles) return wrong(text);
  return limit.rlim_max < kFewFiles ? limited(text) : good(text);
}

Finding look_at_helper(const Machine& machine) {
  for (const char* folder : {"/sbin", "/usr/sbin", "/usr/local/sbin"}) {
    const std::string path = machine.root + folder + "/mount.zarrfs";
    const auto status = status_of(path);
    if (!status) continue;
    if ((status->st_mode & S_IXUSR) == 0) return limited(path + " cannot be run");
    // mount(8) is built to look here.
    if (folder == std::string("/usr/local/sbin"))
      return limited(path + " is not where mount(8) looks");
    return good(path + " is there");
  }
  return limited("there is no /sbin/mount.zarrfs: `mount -t zarrfs` and fstab do not work");
}

}  // namespace

Machine this_machine() {
  Machine machine;
  utsname system{};
  ::uname(&system);
  machine.kernel = system.release;
  const char* path = std::getenv("PATH");
  machine.search_path = path == nullptr ? "/usr/bin:/bin" : path;
  machine.privileged = ::geteuid() == 0;
  const char* temporary = std::getenv("TMPDIR");
  if (temporary != nullptr && *temporary == '/') machine.temporary = temporary;
  return machine;
}

const std::vector<Check>& doctor_checks() {
  static const std::vector<Check> table = {
      {"kernel", look_at_kernel,
       "zarrfs needs Linux 5.6 or newer; in a container or a systemd unit, let it call openat2 "
       "(RestrictSUIDSGID= takes it away)"},
      {"names", look_at_names,
       "Linux 6.18 or newer; else, where a daemon has become large, as root: echo 2 > "
       "/proc/sys/vm/drop_caches (docs/performance.md, Memory)"},
      {"device", look_at_device,
       "as root: modprobe fuse; a container must be given the device, e.g. --device /dev/fuse; "
       "where only its mode is in the way: chmod 666 /dev/fuse"},
      {"libfuse", look_at_libfuse, "install a newer libfuse 3 (Debian: libfuse3-3)"},
      {"io_uring", look_at_ring,
       "to make reading faster, as root: echo Y > /sys/module/fuse/parameters/enable_uring, and "
       "for "
       "good fuse.enable_uring=1 on the kernel's command line; every FUSE file system of this "
       "machine may use it then (docs/administration.md)"},
      {"fusermount3", look_at_fusermount,
       "install it (Debian: fuse3); as root: chmod u+s on it; or mount as root"},
      {"mtab", look_at_mtab, "as root: ln -s ../proc/self/mounts /etc/mtab"},
      {"allow_other", look_at_other_users,
       "as root, to let users open their mounts to others: echo user_allow_other >> "
       "/etc/fuse.conf"},
      {"files", look_at_files,
       "raise the hard limit: ulimit -Hn, limits.conf(5), or LimitNOFILE= of a systemd unit"},
      {"helper", look_at_helper,
       "install zarrfs (the package, or `cmake --install` with --prefix /usr)"},
      {"mounts", look_at_mounts,
       "`zarrfs umount` each, or as root `umount -l`; mounting there again also detaches a dead "
       "one"},
      {"trial", look_at_trial,
       "first mend what is wrong above; a container needs the right to mount (CAP_SYS_ADMIN)"},
      {"speed", look_at_speed,
       "where `trial` is good and io_uring is not: mount with -o io_uring=off, and tell us"},
  };
  return table;
}

}  // namespace zarrfs
