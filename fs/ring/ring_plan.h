// Whether requests shall come by io_uring, whether the machine has it, and how large the ring is.
// Thread-safe.
#pragma once

#include <linux/fuse.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace zarrfs {

enum class RingUse {
  kAuto,  ///< Where it can be had.
  kOn,    ///< Or no mount.
  kOff,
};

/// Bytes of all entries together, at most, where nobody says less.
inline constexpr std::size_t kMostRingMemory = std::size_t{256} << 20U;

/// Of a queue; one may wait for a disk.
inline constexpr unsigned kLeastRingThreads = 2;

/// Beside those that are asked for, where they fit: as many requests may wait for other programs.
inline constexpr unsigned kRingReserve = 16;

/// What libfuse and the kernel agree on where pages have 4 KiB.
inline constexpr std::size_t kUsualRingPayload = std::size_t{1} << 20U;

/// What the kernel has. kUnset: it has it, and fuse.enable_uring is not set.
enum class RingOffer { kNone, kUnset, kSet };

/// `root`: put before the absolute path that is read.
RingOffer ring_offer(const std::string& root = "");

/// Why `io_uring=on` cannot be had here, and what to do; nothing wrong: no error. kInvalid.
Result<void> check_ring(const std::string& root = "");

struct RingPlan {
  unsigned queues = 0;      ///< One for each processor that is possible, there or not.
  unsigned threads = 0;     ///< Of each queue, with one entry each.
  unsigned may_wait = 0;    ///< So many of a queue's requests may wait for other programs.
  std::size_t payload = 0;  ///< Bytes of an entry.
};

/// The bytes that the kernel wants an entry to hold, by the answer to INIT.
std::size_t ring_payload(const fuse_init_out& answer, std::size_t page_size);

struct RingThreads {
  unsigned wanted = 1;                 ///< For each processor, and the reserve.
  unsigned least = kLeastRingThreads;  ///< With fewer there is no ring.
  std::size_t memory = kMostRingMemory;
};

/// As many threads as the memory allows. kNoMemory where that is too few.
Result<RingPlan> plan_ring(unsigned queues, RingThreads threads, std::size_t payload);

/// How many processors a list such as "0-3,8" (/sys/devices/system/cpu/possible) names.
Result<unsigned> count_processors(std::string_view list);
Result<unsigned> possible_processors(const std::string& root = "");

}  // namespace zarrfs
