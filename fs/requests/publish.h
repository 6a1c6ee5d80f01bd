// Talking to a running mount about what was written. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// Puts what was written through the mount at `mountpoint` into its shards; returns when that is
/// done. kReadOnly where the mount only reads.
Result<void> publish_mount(const std::string& mountpoint);

/// What the mount could not publish, a line for each chunk; empty where there is nothing, or where
/// the mount does not tell.
std::string unpublished_of_mount(const std::string& mountpoint);

/// Which documents each mount has refused last, and why, a line for each; empty where there are
/// none, or where the mount does not tell within two seconds. All are asked at once.
std::vector<std::string> refused_of_mounts(const std::vector<std::string>& mountpoints);

/// The document of counters of each mount; empty where it does not tell within two seconds.
std::vector<std::string> statistics_of_mounts(const std::vector<std::string>& mountpoints);

}  // namespace zarrfs
