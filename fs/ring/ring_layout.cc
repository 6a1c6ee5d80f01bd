#include "fs/ring/ring_layout.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace zarrfs {
namespace {

/// The parts behind the header into `payload`; false where they do not fit.
bool copy_body(std::span<const iovec> parts, std::span<char> payload, std::size_t& copied) {
  for (const iovec& part : parts) {
    if (part.iov_len > payload.size() - copied) return false;
    char* const place = payload.data() + copied;
    // What is there already was made in place: see RingEntry::room.
    if (part.iov_len != 0 && part.iov_base != place) {
      std::memcpy(place, part.iov_base, part.iov_len);
    }
    copied += part.iov_len;
  }
  return true;
}

}  // namespace

std::optional<std::span<char>> gather(const RingHeader& header, std::span<char> payload) {
  fuse_in_header common{};
  std::memcpy(&common, header.common.data(), sizeof common);
  const std::size_t behind = sizeof common + header.payload_size;
  if (header.payload_size > payload.size() || common.len < behind) return std::nullopt;
  const std::size_t argument = common.len - behind;
  if (argument > header.operation.size()) return std::nullopt;
  char* const begin = payload.data() - argument - sizeof common;
  std::memcpy(begin, &common, sizeof common);
  std::memcpy(begin + sizeof common, header.operation.data(), argument);
  return std::span<char>(begin, common.len);
}

std::size_t scatter(std::span<const iovec> parts, RingHeader& header, std::span<char> payload) {
  fuse_out_header common{};
  std::memcpy(&common, parts.front().iov_base, sizeof common);
  const std::size_t given = common.len;
  std::size_t body = 0;
  if (!copy_body(parts.subspan(1), payload, body)) {
    common.error = -EIO;
    body = 0;
  }
  common.len = static_cast<std::uint32_t>(sizeof common + body);
  header.payload_size = static_cast<std::uint32_t>(body);
  std::memcpy(header.common.data(), &common, sizeof common);
  return given;
}

namespace {
/// Nothing is offered by a request that is too short.
fuse_init_in offer_of(std::span<const char> init_request) {
  fuse_init_in offer{};
  if (init_request.size() >= sizeof(fuse_in_header) + sizeof offer) {
    std::memcpy(&offer, init_request.data() + sizeof(fuse_in_header), sizeof offer);
  }
  return offer;
}
}  // namespace

bool offers_ring(std::span<const char> init_request) {
  const fuse_init_in offer = offer_of(init_request);
  if ((offer.flags & FUSE_INIT_EXT) == 0) return false;
  return ((std::uint64_t{offer.flags2} << 32U) & kOverRing) != 0;
}

bool offers_parallel(std::span<const char> init_request) {
  return (offer_of(init_request).flags & FUSE_PARALLEL_DIROPS) != 0;
}

void take_ring(fuse_init_out& answer) {
  if ((answer.flags & FUSE_INIT_EXT) == 0) answer.flags2 = 0;
  answer.flags |= FUSE_INIT_EXT;
  answer.flags2 |= static_cast<std::uint32_t>(kOverRing >> 32U);
}

}  // namespace zarrfs
