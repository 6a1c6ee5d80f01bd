#include "core/names/metrics.h"

#include <algorithm>
#include <array>

namespace zarrfs {
namespace {

constexpr Metric counter(const char* member, const char* help) {
  return {member, true, nullptr, help};
}
constexpr Metric by_operation(const char* member, const char* help) {
  return {member, true, "operation", help};
}
constexpr Metric gauge(const char* member, const char* help) {
  return {member, false, nullptr, help};
}

constexpr Metric by_part(const char* member, const char* help) {
  return {member, false, "part", help};
}

constexpr std::array kMetrics = {
    by_operation("requests", "Requests of the kernel"),
    by_operation("errors", "Answers to the kernel that are errors"),
    counter("requests_by_device", "Requests of the kernel that came by /dev/fuse"),
    counter("requests_by_io_uring", "Requests of the kernel that came by io_uring"),
    counter("bytes_read", "Bytes of files that the kernel was given"),
    counter("bytes_written", "Bytes of files that the kernel gave"),
    counter("reads_in_place",
            "Reads of the kernel that were answered from the file of a shard, or of what passes "
            "through, without zarrfs having read the chunk before"),
    counter("chunk_reads",
            "Chunks that zarrfs read as a whole, because they are converted or at a server"),
    counter("chunk_bytes_read", "Bytes of those chunks"),
    counter("index_reads", "Indexes of shards that were read"),
    counter("index_hits", "Indexes of shards that were in memory"),
    counter("whole_shards_decoded", "Shards that were decoded whole: codecs are around sharding"),
    gauge("index_cache_bytes", "Memory of the indexes"),
    by_part("memory_held", "Bytes of memory that are held, by what; all: what is resident"),
    by_part("memory_bound", "Bytes of memory that may be held (option memory)"),
    gauge("named_nodes", "Names that the kernel holds"),
    gauge("process", "Process id of the daemon"),
    counter("chunks_written", "Chunks that programs wrote"),
    counter("chunk_bytes_written", "Bytes of those chunks, as they are stored"),
    counter("shards_rewritten", "Shards that were put in place with new chunks"),
    counter("shard_rewrites_failed", "Tries to do so that failed; they are made again"),
    counter("shard_bytes_rewritten", "Bytes that were written for that"),
    gauge("shards_unpublished", "Shards with chunks that are not in them yet"),
    gauge("chunks_unpublished", "Chunks that were written and are not in their shards yet"),
    gauge("log_bytes", "Size of the log of those chunks"),
    counter("remote.requests", "Requests to the server"),
    counter("remote.bytes", "Bytes of objects and listings that the server sent"),
    counter("remote.bytes_sent", "Bytes of objects that were sent to the server"),
    counter("remote.objects_put", "Objects that were put"),
    counter("remote.bytes_copied", "Bytes of objects that the server copied itself"),
    counter("remote.failures", "Requests without an answer"),
    counter("remote.retries", "Requests that were sent again"),
    gauge("remote.away", "1 while the server does not answer"),
    counter("remote.outages", "How often the server went away"),
    counter("remote.shown_stale",
            "Answers from what was seen before, while the server did not answer"),
    counter("remote.reads", "Reads of objects"),
    counter("remote.memory_hits", "Reads of objects that were in memory"),
    gauge("remote.memory_bytes", "Memory of the bytes of objects"),
    gauge("remote.bodies_bytes", "Memory of answers that are on their way"),
    counter("remote.disk_hits", "Reads of objects that were in the cache on disk"),
    counter("http.requests", "Requests to zarrfs serve"),
    counter("http.refused", "Requests that were refused before the store was asked"),
    counter("http.absent", "Requests for what there is not"),
    counter("http.faults", "Requests that failed by damage, or because something was away"),
    counter("http.bytes_sent", "Bytes of answers"),
    gauge("http.connections", "Connections of clients"),
    counter("http.connections_accepted", "Connections that were taken"),
    counter("http.connections_turned_away", "Connections for which there was no room"),
};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

std::string metric_name(const Metric& metric) {
  std::string name = std::string("zarrfs_") + metric.member + (metric.counter ? "_total" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace zarrfs
