#include "fs/ring/ring_entry.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace zarrfs {
namespace {

constexpr std::size_t kFront = 4096;
static_assert(kFront >= sizeof(RingHeader) + kBeforePayload);

}  // namespace

Result<std::unique_ptr<RingEntry>> RingEntry::make(std::size_t payload) {
  // Pages that no request has needed yet take no memory.
  void* const memory =
      ::mmap(nullptr, kFront + payload, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(system_error(errno, "memory for a ring"));
  return std::unique_ptr<RingEntry>(new RingEntry(static_cast<char*>(memory), payload));
}

RingEntry::RingEntry(char* memory, std::size_t payload)
    : memory_(memory),
      payload_(memory + kFront, payload),
      parts_{{{memory, sizeof(RingHeader)}, {memory + kFront, payload}}} {}

RingEntry::~RingEntry() { ::munmap(memory_, kFront + payload_.size()); }

fuse_in_header RingEntry::request() const {
  fuse_in_header request{};
  std::memcpy(&request, header().common.data(), sizeof request);
  return request;
}

std::optional<std::span<char>> RingEntry::arrived() {
  commit_id_ = header().commit_id;
  unique_ = request().unique;
  return gather(header(), payload_);
}

std::span<char> RingEntry::room(std::size_t size) const {
  if (header().payload_size != 0 || size > payload_.size()) return {};
  return payload_.first(size);
}

bool RingEntry::claim(std::uint64_t unique) { return unique_.compare_exchange_strong(unique, 0); }

std::size_t RingEntry::answer(std::span<const iovec> answer) {
  return scatter(answer, header(), payload_);
}

}  // namespace zarrfs
