#include "core/write/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/base/json.h"

namespace zarrfs {
namespace {

/// The arguments of process `pid`, separated by blanks; empty where they cannot be read.
std::string command_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/cmdline", std::ios::binary);
  std::string line;
  for (char c = 0; file.get(c);) line.push_back(c == '\0' ? ' ' : c);
  if (!line.empty()) line.pop_back();
  return printable(line);
}

/// Who holds a lock on the file of `descriptor`, from /proc/locks: "process 4711 (zarrfs mount a
/// b)".
std::string holder_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return "another program";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, pid, file;
    words >> number >> kind >> mode >> access >> pid >> file;
    const auto colon = file.rfind(':');
    if (kind != "FLOCK" || colon == std::string::npos) continue;
    if (file.substr(colon + 1) != std::to_string(status.st_ino)) continue;
    const std::string command = command_of(pid);
    return "process " + pid + (command.empty() ? "" : " (" + command + ")");
  }
  return "another program";
}

struct ClusterFileSystem {
  std::uint64_t magic;
  const char* name;
};

// Sources: linux/magic.h, and the projects' own headers where it has none.
constexpr ClusterFileSystem kClusterFileSystems[] = {
    {0x00006969, "NFS"},  {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},   {0x00C36400, "Ceph"},
    {0xFF534D42, "SMB"},  {0xFE534D42, "SMB"},    {0x0000517B, "SMB"},    {0x5346414F, "AFS"},
    {0x01161970, "GFS2"}, {0x7461636F, "OCFS2"},  {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"},
};

}  // namespace

std::string cluster_file_system(std::uint64_t magic) {
  for (const ClusterFileSystem& one : kClusterFileSystems) {
    if (one.magic == magic) return one.name;
  }
  return {};
}

Result<std::string> cluster_file_system_of(Store& store) {
  ZARRFS_TRY(const Fd root, store.open_plain("", O_RDONLY | O_DIRECTORY, 0));
  struct statfs status {};
  if (::fstatfs(root.get(), &status) == 0) {
    return cluster_file_system(static_cast<std::uint32_t>(status.f_type));
  }
  return fail(system_error(errno, store.name() + ": reading what file system it lies on"));
}

Result<Fd> lock_store(Store& store) {
  ZARRFS_TRY(Fd root, store.open_plain("", O_RDONLY | O_DIRECTORY, 0));
  if (::flock(root.get(), LOCK_EX | LOCK_NB) == 0) return root;
  if (errno != EWOULDBLOCK) return fail(system_error(errno, "locking store " + store.name()));
  return fail(Fault::kBusy,
              "store " + store.name() + " is already written by " + holder_of(root.get()));
}

}  // namespace zarrfs
