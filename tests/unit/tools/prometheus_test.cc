#include "tools/prometheus.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs::tools {
namespace {

TEST(Prometheus, HasASampleForEachNumber) {
  const Json statistics = Json::parse(R"({"index_reads": 2, "named_nodes": 4, "process": 77,
    "requests": {"lookup": 6, "read": 0}, "errors": {}, "note": "text", "write": {"shards": 1}})");
  EXPECT_EQ(prometheus_text(statistics, "/mnt/a \"b\"\\"),
            R"(# TYPE zarrfs_index_reads_total counter
zarrfs_index_reads_total{mount="/mnt/a \"b\"\\"} 2
# TYPE zarrfs_named_nodes gauge
zarrfs_named_nodes{mount="/mnt/a \"b\"\\"} 4
# TYPE zarrfs_process gauge
zarrfs_process{mount="/mnt/a \"b\"\\"} 77
# TYPE zarrfs_requests_total counter
zarrfs_requests_total{mount="/mnt/a \"b\"\\",operation="lookup"} 6
zarrfs_requests_total{mount="/mnt/a \"b\"\\",operation="read"} 0
# TYPE zarrfs_write gauge
zarrfs_write{mount="/mnt/a \"b\"\\",operation="shards"} 1
)");
}

}  // namespace
}  // namespace zarrfs::tools
