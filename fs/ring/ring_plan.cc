#include "fs/ring/ring_plan.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "core/base/fd.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr const char* kSetting = "/sys/module/fuse/parameters/enable_uring";
constexpr const char* kPossible = "/sys/devices/system/cpu/possible";
constexpr std::size_t kLeastPayload = 8192;
constexpr unsigned kMostProcessors = 1U << 16U;

std::string first_line_of(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

/// The number that all of `text` is, or more than any.
unsigned processor(std::string_view text) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && rest == end ? number : kMostProcessors;
}

}  // namespace

RingOffer ring_offer(const std::string& root) {
  const Fd loads_the_module(::open((root + "/dev/fuse").c_str(), O_RDWR | O_CLOEXEC));
  const std::string setting = first_line_of(root + kSetting);
  if (setting.empty()) return RingOffer::kNone;
  return setting == "Y" ? RingOffer::kSet : RingOffer::kUnset;
}

Result<void> check_ring(const std::string& root) {
  switch (ring_offer(root)) {
    case RingOffer::kSet: return {};
    case RingOffer::kNone:
      return fail(
          Fault::kInvalid,
          "option io_uring=on: this kernel has no FUSE over io_uring; it needs Linux 6.14 or "
          "newer with CONFIG_FUSE_IO_URING");
    case RingOffer::kUnset: break;
  }
  return fail(Fault::kInvalid, std::string("option io_uring=on: the kernel's fuse.enable_uring is "
                                           "not set; as root, for every FUSE file system of this "
                                           "machine: echo Y > ") +
                                   kSetting);
}

std::size_t ring_payload(const fuse_init_out& answer, std::size_t page_size) {
  return std::max({kLeastPayload, std::size_t{answer.max_write}, answer.max_pages * page_size});
}

Result<RingPlan> plan_ring(unsigned queues, RingThreads threads, std::size_t payload) {
  const std::size_t fit = threads.memory / payload / queues;
  if (fit < std::max(threads.least, kLeastRingThreads)) {
    return fail(Fault::kNoMemory, "a ring for " + std::to_string(queues) +
                                      " processors would take more than " +
                                      std::to_string(threads.memory >> 20U) + " MiB");
  }
  const unsigned wanted = std::max(threads.wanted, kLeastRingThreads);
  const auto count = static_cast<unsigned>(std::min<std::size_t>(fit, wanted + kRingReserve));
  const unsigned kept = std::min(wanted, (count + 1) / 2);  // By requests that do not wait.
  return RingPlan{queues, count, count - kept, payload};
}

Result<unsigned> count_processors(std::string_view list) {
  unsigned count = 0;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view range = list.substr(at, end - at);
    const std::size_t dash = range.find('-');
    const unsigned first = processor(range.substr(0, dash));
    const unsigned last =
        dash == std::string_view::npos ? first : processor(range.substr(dash + 1));
    if (first > last || last >= kMostProcessors) {
      return fail(Fault::kInvalid, "\"" + printable(list) + "\" is no list of processors");
    }
    count += last - first + 1;
    at = end + 1;
  }
  return count;
}

Result<unsigned> possible_processors(const std::string& root) {
  return count_processors(first_line_of(root + kPossible));
}

}  // namespace zarrfs
