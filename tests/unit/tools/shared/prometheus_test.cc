#include "tools/shared/prometheus.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs::tools {
namespace {

TEST(Prometheus, HasASampleForEachNumber) {
  const Json statistics = Json::parse(R"({"index_reads": 2, "named_nodes": 4, "note": "text",
    "requests": {"lookup": 6, "read": 0}, "errors": {}, "remote": {"away": true, "requests": 3}})");
  EXPECT_EQ(prometheus_text(statistics, "/mnt/a \"b\"\\"),
            R"(# HELP zarrfs_requests_total Requests of the kernel.
# TYPE zarrfs_requests_total counter
zarrfs_requests_total{mount="/mnt/a \"b\"\\",operation="lookup"} 6
zarrfs_requests_total{mount="/mnt/a \"b\"\\",operation="read"} 0
# HELP zarrfs_index_reads_total Indexes of shards that were read.
# TYPE zarrfs_index_reads_total counter
zarrfs_index_reads_total{mount="/mnt/a \"b\"\\"} 2
# HELP zarrfs_named_nodes Names that the kernel holds.
# TYPE zarrfs_named_nodes gauge
zarrfs_named_nodes{mount="/mnt/a \"b\"\\"} 4
# HELP zarrfs_remote_requests_total Requests to the server.
# TYPE zarrfs_remote_requests_total counter
zarrfs_remote_requests_total{mount="/mnt/a \"b\"\\"} 3
# HELP zarrfs_remote_away 1 while the server does not answer.
# TYPE zarrfs_remote_away gauge
zarrfs_remote_away{mount="/mnt/a \"b\"\\"} 1
)");
  for (const char* none : {"[]", "{}", R"({"remote": 1, "requests": 2})"}) {
    EXPECT_EQ(prometheus_text(Json::parse(none), "/mnt"), "") << none;
  }
}

}  // namespace
}  // namespace zarrfs::tools
