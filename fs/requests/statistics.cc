#include "fs/requests/statistics.h"

#include <unistd.h>

#include "core/base/json.h"

namespace zarrfs {

std::uint64_t Statistics::wanted_requests() const {
  std::uint64_t sum = 0;
  for (const Counter& counter : requests_) sum += counter.load(std::memory_order_relaxed);
  return sum - requests(Operation::kForget) - requests(Operation::kStatfs);
}

std::string Statistics::render() const {
  Json requests_by_name = Json::object();
  Json errors_by_name = Json::object();
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const std::string name(operation_name(operation));
    requests_by_name[name] = requests(operation);
    if (errors(operation) != 0) errors_by_name[name] = errors(operation);
  }
  Json object = Json::object();
  object["process"] = ::getpid();
  object["bytes_read"] = bytes_read();
  object["bytes_written"] = bytes_written();
  object["reads_in_place"] = reads_in_place_.load(std::memory_order_relaxed);
  object["requests_by_device"] = arrivals(Transport::kDevice);
  object["requests_by_io_uring"] = arrivals(Transport::kRing);
  object["requests"] = std::move(requests_by_name);
  object["errors"] = std::move(errors_by_name);
  return dump_json(object);
}

}  // namespace zarrfs
