// Statistics of a mount in Prometheus's text format. Source: "Exposition formats", version 0.0.4.
// Pure; thread-safe.
#pragma once

#include <string>

#include "core/base/json_fwd.h"

namespace zarrfs::tools {

/// One sample for each number of `statistics` (.zarrfs/stats.json), labelled with the mount's path:
/// `zarrfs_index_reads_total{mount="/mnt"} 3`; of "requests" and "errors" one for each operation.
/// What only grows is a counter, all else a gauge.
std::string prometheus_text(const Json& statistics, const std::string& mount);

}  // namespace zarrfs::tools
