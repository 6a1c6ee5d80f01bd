// The numbers of `.zarrfs/stats.json`: what each means, and what Prometheus calls it. The table is
// printed by `zarrfs stats --prometheus` and in docs/reference.md.
#pragma once

#include <span>
#include <string>

namespace zarrfs {

struct Metric {
  const char* member;  ///< "remote.requests": `requests` of the object `remote`.
  bool counter;        ///< Only grows; else it goes up and down.
  const char*
      by;  ///< The label of its parts, where it is an object of numbers ("operation"); else null.
  const char* help;
};

std::span<const Metric> metrics();

/// "zarrfs_remote_requests_total".
std::string metric_name(const Metric& metric);

}  // namespace zarrfs
