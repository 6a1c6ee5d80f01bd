// FUSE over io_uring as the kernel lays it out (linux/fuse.h of Linux 6.14, which is newer than
// Debian 12's), and how an entry's parts become a message for libfuse and back. Pure; thread-safe.
#pragma once

#include <linux/fuse.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zarrfs {

/// Bit of INIT's flags: the kernel offers requests by io_uring, and the answer takes the offer.
inline constexpr std::uint64_t kOverRing = std::uint64_t{1} << 41U;

/// Commands of a ring.
inline constexpr std::uint32_t kRegisterEntry = 1;
inline constexpr std::uint32_t kCommitAndFetch = 2;

/// An entry without its payload: struct fuse_uring_req_header.
struct RingHeader {
  std::array<char, 128> common;     ///< fuse_in_header; of the answer, fuse_out_header.
  std::array<char, 128> operation;  ///< The request's first argument.
  std::uint64_t flags;
  std::uint64_t commit_id;
  std::uint32_t payload_size;
  std::uint32_t padding;
  std::uint64_t reserved;
};
static_assert(sizeof(RingHeader) == 288);

/// What a command says beside its number: struct fuse_uring_cmd_req.
struct RingCommand {
  std::uint64_t flags;
  std::uint64_t commit_id;
  std::uint16_t queue;
  std::array<std::uint8_t, 6> padding;
};
static_assert(sizeof(RingCommand) == 24);

/// How much before a payload gather() may write.
inline constexpr std::size_t kBeforePayload = sizeof(fuse_in_header) + 128;

/// The request in one piece, as read(2) on /dev/fuse gives it: header and first argument are put
/// right before the payload, which stays where it is. Nothing where the sizes contradict each
/// other.
std::optional<std::span<char>> gather(const RingHeader& header, std::span<char> payload);

/// Puts an answer of libfuse's, whose first part is its header, into an entry. One that does not
/// fit becomes EIO. How many bytes libfuse gave.
std::size_t scatter(std::span<const iovec> parts, RingHeader& header, std::span<char> payload);

/// Whether an INIT request offers the ring.
bool offers_ring(std::span<const char> init_request);

/// Whether an INIT request offers to look up and list in one directory in parallel.
bool offers_parallel(std::span<const char> init_request);

/// Makes libfuse's answer to INIT take the offer of the ring.
void take_ring(fuse_init_out& answer);

}  // namespace zarrfs
