// Where a mount may be put. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "fs/mounts/mount_table.h"

namespace zarrfs {

/// Where a store is mounted whose user named no place.
struct OwnMountpoint {
  std::string path;   ///< In the working directory: "brain.zarr" of the store "brain".
  bool made = false;  ///< It was not there before.
};

/// A directory in the working directory called like the store `source`, with ".zarr" at the end
/// (programs guess the format by that), or ".mount.zarr" where that name is taken; made where it is
/// not there. kExists where both names are taken.
Result<OwnMountpoint> own_mountpoint(const std::string& source);

/// The canonical path of a directory on which zarrfs can be mounted now. A zarrfs mount there whose
/// daemon has died is detached first; one that lives is kBusy. kInvalid, with the reason, where
/// `path` is no directory.
Result<std::string> prepare_mountpoint(const std::string& path);

/// The descriptor N that "/dev/fd/N" as a mountpoint stands for: a connection to a mount that
/// somebody else has made, as apptainer and `mount.fuse3 -o drop_privileges` do.
std::optional<int> given_connection(const std::string& mountpoint);
/// kInvalid where the descriptor is not one of /dev/fuse.
Result<void> check_connection(int descriptor);

/// kInvalid where one of the two paths lies within the other: a mount must not show itself or hide
/// its source.
Result<void> check_apart(const std::string& source, const std::string& mountpoint);

/// kInvalid, naming the other one, where a mount of `source` on `mountpoint` would read one of
/// `mounts` that reads it: each would wait for the other's answers. Compares names, so that what
/// symbolic links do is not seen.
Result<void> check_no_circle(const std::string& source, const std::string& mountpoint,
                             const std::vector<MountEntry>& mounts);

/// kIo where `path` lies in a mount of zarrfs whose daemon has ended, or gives no answer for a
/// minute: who goes on waits in the kernel, where signals that a program handles do not reach it.
/// Says on `say` that it waits once that takes long: a machine may stand still for a while.
/// Compares names, so that what symbolic links do is not seen.
Result<void> check_answers(const std::string& path,
                           const std::function<void(const std::string&)>& say);

/// The mount of `mounts` that `path` lies in, where that is one of zarrfs.
std::optional<MountEntry> own_mount_around(const std::string& path,
                                           const std::vector<MountEntry>& mounts);

}  // namespace zarrfs
