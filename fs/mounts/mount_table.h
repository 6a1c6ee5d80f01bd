// What is mounted where, as the kernel tells in /proc/self/mountinfo, and unmounting.
// Pure but for the system; thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// One line of mountinfo. Source: proc(5).
struct MountEntry {
  std::string device;  ///< "MAJOR:MINOR", one for each connection.
  std::string mountpoint;
  std::string type;  ///< "fuse.zarrfs" for ours.
  std::string source;
  bool read_only = false;
  std::optional<uid_t> user = {};  ///< Who has mounted it, as FUSE tells.
};

inline constexpr std::string_view kOwnType = "fuse.zarrfs";

/// All lines that can be understood, in the kernel's order.
std::vector<MountEntry> parse_mountinfo(std::string_view text);

/// All mounts that this process sees.
Result<std::vector<MountEntry>> mount_table();

/// The mount seen at `path` (canonical): of several on top of each other the last.
Result<std::optional<MountEntry>> mount_at(const std::string& path);

/// `path` without links and dots. Asks nothing of a file system mounted on its last component,
/// which may be dead.
Result<std::string> canonical_mountpoint(const std::string& path);

/// The name of the zarrfs mount at `mountpoint` in the table of mounts; kInvalid where nothing, or
/// something else, is mounted there.
Result<std::string> own_mount(const std::string& mountpoint);

/// Detaches at once only what is unused (kBusy otherwise); with `lazily` also what is in use. By
/// fusermount3 where this process may not.
Result<void> unmount(const std::string& mountpoint, bool lazily);

}  // namespace zarrfs
