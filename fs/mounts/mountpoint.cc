#include "fs/mounts/mountpoint.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>

#include "core/base/printable.h"
#include "fs/mounts/daemon_state.h"
#include "fs/mounts/mount_table.h"

namespace zarrfs {
namespace {

constexpr int kMostDeadMounts = 16;
const dev_t kFuseDevice = ::makedev(10, 229);  // Source: Linux, admin-guide/devices.txt

bool contains(const std::string& outer, const std::string& inner) {
  const std::string prefix = outer == "/" ? outer : outer + "/";
  return outer == inner || inner.starts_with(prefix);
}

Result<bool> is_own_mount(const std::string& path) {
  ZARRFS_TRY(const auto mount, mount_at(path));
  return mount && mount->type == kOwnType;
}

Result<void> detach_dead_mounts(const std::string& path) {
  for (int i = 0; i < kMostDeadMounts; ++i) {
    ZARRFS_TRY(const bool own, is_own_mount(path));
    const DaemonState state = own                     ? daemon_state(path)
                              : has_lost_daemon(path) ? DaemonState::kGone
                                                      : DaemonState::kAnswers;
    if (state == DaemonState::kAnswers) break;
    if (state == DaemonState::kSilent) {
      return fail(Fault::kBusy, "zarrfs is mounted on " + printable(path) +
                                    " already, and its daemon gives no answer: zarrfs umount " +
                                    printable(path));
    }
    if (!own) {
      return fail(
          Fault::kBusy,
          "mountpoint " + path + ": another file system there is not connected; unmount it first");
    }
    ZARRFS_CHECK(unmount(path, true));
  }
  return {};
}

/// "brain" of "/data/brain.zarr/" and "https://host/brain.zarr?x".
std::string plain_name(const std::string& source) {
  std::string path = source.substr(0, source.find_first_of("?#"));
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::string name = std::filesystem::path(path).filename().string();
  if (name.empty() || name == "." || name == "..") {
    std::error_code problem;
    name = std::filesystem::canonical(path, problem).filename().string();
  }
  constexpr std::string_view kEnding = ".zarr";
  if (name.size() > kEnding.size() && name.ends_with(kEnding)) {
    name.resize(name.size() - kEnding.size());
  }
  return name.empty() || name == "/" ? "store" : name;
}

/// Whether a mount can be put there: an empty directory, or one of our mounts, which
/// prepare_mountpoint() looks at.
Result<bool> is_free(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path here = std::filesystem::current_path(problem);
  if (problem) return fail(system_error(problem.value(), "the working directory"));
  ZARRFS_TRY(const bool own, is_own_mount((here / path).string()));
  if (own) return true;
  const bool empty = std::filesystem::is_directory(path, problem) &&
                     std::filesystem::is_empty(path, problem) && !problem;
  return empty;
}

}  // namespace

Result<OwnMountpoint> own_mountpoint(const std::string& source) {
  const std::string name = plain_name(source);
  const std::string preferred = name + ".zarr";
  for (const std::string& path : {preferred, name + ".mount.zarr"}) {
    if (::mkdir(path.c_str(), 0777) == 0) return OwnMountpoint{path, true};
    if (errno != EEXIST)
      return fail(system_error(errno, "making the mountpoint " + printable(path)));
    ZARRFS_TRY(const bool free, is_free(path));
    if (free) return OwnMountpoint{path, false};
  }
  return fail(Fault::kExists, printable(preferred) + " and " + printable(name) +
                                  ".mount.zarr are taken here: name a MOUNTPOINT");
}

Result<std::string> prepare_mountpoint(const std::string& path) {
  ZARRFS_TRY(std::string place, canonical_mountpoint(path));
  ZARRFS_CHECK(detach_dead_mounts(place));
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0) {
    return fail(system_error(errno, "mountpoint " + printable(place)));
  }
  if (!S_ISDIR(status.st_mode)) {
    return fail(Fault::kInvalid, "mountpoint " + printable(place) + " is not a directory");
  }
  ZARRFS_TRY(const bool own, is_own_mount(place));
  if (own) return fail(Fault::kBusy, "zarrfs is mounted on " + printable(place) + " already");
  return place;
}

std::optional<int> given_connection(const std::string& mountpoint) {
  constexpr std::string_view kFolder = "/dev/fd/";
  if (!mountpoint.starts_with(kFolder)) return std::nullopt;
  int number = -1;
  const char* const end = mountpoint.data() + mountpoint.size();
  const auto read = std::from_chars(mountpoint.data() + kFolder.size(), end, number);
  const bool whole = read.ec == std::errc() && read.ptr == end && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

Result<void> check_connection(int descriptor) {
  const std::string called = "mountpoint /dev/fd/" + std::to_string(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return fail(system_error(errno, called));
  if (S_ISCHR(status.st_mode) && status.st_rdev == kFuseDevice) return {};
  return fail(Fault::kInvalid, called + " is not /dev/fuse");
}

Result<void> check_apart(const std::string& source, const std::string& mountpoint) {
  std::error_code problem;
  const std::string canonical = std::filesystem::weakly_canonical(source, problem).string();
  if (problem) return fail(system_error(problem.value(), "source " + printable(source)));
  if (contains(canonical, mountpoint)) {
    return fail(Fault::kInvalid, "mountpoint " + printable(mountpoint) +
                                     " lies within the source " + printable(canonical) +
                                     ": mount elsewhere");
  }
  if (contains(mountpoint, canonical)) {
    return fail(Fault::kInvalid, "source " + printable(canonical) + " lies within the mountpoint " +
                                     printable(mountpoint) + ": mount elsewhere");
  }
  return {};
}

Result<void> check_no_circle(const std::string& source, const std::string& mountpoint,
                             const std::vector<MountEntry>& mounts) {
  std::vector<std::string> read{source};  // by the new mount, through others
  std::set<std::string> met;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::string reader = read[i];
    for (const MountEntry& other : mounts) {
      const bool reads = contains(reader, other.mountpoint) || contains(other.mountpoint, reader);
      if (other.type != kOwnType || !reads || !met.insert(other.mountpoint).second) continue;
      if (contains(other.source, mountpoint)) {
        return fail(Fault::kInvalid, "mountpoint " + printable(mountpoint) + " lies within " +
                                         printable(other.source) + ", which is mounted on " +
                                         printable(other.mountpoint) +
                                         ", which this mount reads: each would wait "
                                         "for the other; mount elsewhere");
      }
      read.push_back(other.source);
    }
  }
  return {};
}

Result<void> check_answers(const std::string& path,
                           const std::function<void(const std::string&)>& say) {
  constexpr std::chrono::minutes kLongestAnswer{1};
  std::error_code problem;
  const std::filesystem::path whole = std::filesystem::absolute(path, problem).lexically_normal();
  const auto mounts = mount_table();
  if (problem || !mounts) return {};
  const auto around = own_mount_around(whole.string(), *mounts);
  if (!around) return {};
  const std::string place = printable(around->mountpoint);
  switch (await_daemon(around->mountpoint, kLongestAnswer - kAnswerPatience, say)) {
    case DaemonState::kAnswers: break;
    case DaemonState::kGone: return fail(Fault::kIo, place + ": its daemon " + kHasEnded);
    case DaemonState::kSilent: return fail(Fault::kIo, place + ": its daemon gives no answer");
  }
  return {};
}

std::optional<MountEntry> own_mount_around(const std::string& path,
                                           const std::vector<MountEntry>& mounts) {
  std::optional<MountEntry> around;
  for (const MountEntry& mount : mounts) {
    const bool nearer = !around || mount.mountpoint.size() >= around->mountpoint.size();
    if (contains(mount.mountpoint, path) && nearer) around = mount;
  }
  return around && around->type == kOwnType ? around : std::nullopt;
}

}  // namespace zarrfs
