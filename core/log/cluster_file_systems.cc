#include "core/log/cluster_file_systems.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace zarrfs {
namespace {

constexpr std::uint32_t kFuse = 0x65735546;

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

// By FUSE, over the files of one machine. zarrfs itself: whoever writes to the store below a mount
// is told by its lock.
constexpr std::array<std::string_view, 20> kOfOneMachine = {
    "archivemount", "bindfs",         "cryfs",    "dwarfs",     "encfs",   "exfat",     "ext2",
    "fuse-ext2",    "fuse-overlayfs", "fuse-zip", "fuse2fs",    "fuseblk", "gocryptfs", "lxcfs",
    "mergerfs",     "ntfs-3g",        "securefs", "squashfuse", "unionfs", "zarrfs"};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// "30" of a text with the line "mnt_id:	30".
std::string mount_number(std::string_view fdinfo) {
  constexpr std::string_view kName = "mnt_id:";
  const std::size_t at = fdinfo.find(kName);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = fdinfo.find_first_not_of(" \t", at + kName.size());
  const std::size_t end = std::min(fdinfo.find('\n', at), fdinfo.size());
  return begin < end ? std::string(fdinfo.substr(begin, end - begin)) : std::string();
}

}  // namespace

std::string cluster_file_system(std::uint64_t magic) {
  for (const ClusterFileSystem& one : kClusterFileSystems) {
    if (one.magic == magic) return one.name;
  }
  return {};
}

std::string fuse_of_machines(std::string_view type) {
  constexpr std::string_view kPrefix = "fuse.";
  if (type.starts_with(kPrefix)) type.remove_prefix(kPrefix.size());
  const auto* const known = std::find(kOfOneMachine.begin(), kOfOneMachine.end(), type);
  if (known != kOfOneMachine.end()) return {};
  if (type.empty() || type == "fuse") return "a file system by FUSE";
  return std::string(type) + " (FUSE)";
}

std::string type_of_mount(std::string_view mountinfo, std::string_view number) {
  constexpr std::string_view kBeforeType = " - ";  // no path in a line has a blank
  const std::string begin = std::string(number) + " ";
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    const std::size_t at = line.find(kBeforeType);
    if (!line.starts_with(begin) || at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + kBeforeType.size());
    return std::string(rest.substr(0, rest.find(' ')));
  }
  return {};
}

bool has_names_on_several_bricks(std::string_view path_info) {
  return path_info.find("<DISTRIBUTE:") != std::string_view::npos;
}

bool lies_on_several_bricks(int directory) {
  std::string path_info(std::size_t{64} << 10U, '\0');  // no attribute is longer
  const ssize_t length =
      ::fgetxattr(directory, "glusterfs.pathinfo", path_info.data(), path_info.size());
  path_info.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return has_names_on_several_bricks(path_info);
}

Result<std::string> cluster_file_system_of(Store& store) {
  ZARRFS_TRY(const Fd root, store.open_plain("", O_RDONLY | O_DIRECTORY, 0));
  struct statfs status {};
  if (::fstatfs(root.get(), &status) != 0) {
    return fail(system_error(errno, store.name() + ": reading what file system it lies on"));
  }
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  if (magic != kFuse) return cluster_file_system(magic);
  const std::string opened = contents("/proc/self/fdinfo/" + std::to_string(root.get()));
  return fuse_of_machines(type_of_mount(contents("/proc/self/mountinfo"), mount_number(opened)));
}

}  // namespace zarrfs
