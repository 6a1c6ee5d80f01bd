// The one place where the bound on the daemon's memory (`memory=`) is divided. Pure, but for
// machine_memory(); thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace zarrfs {

/// What options say of the parts. Nothing: what is left decides.
struct MemoryWishes {
  std::optional<std::uint64_t> bound;
  std::optional<std::uint64_t> index_cache;
  std::optional<std::uint64_t> decode_memory;
  std::optional<std::uint64_t> memory_cache;
  std::optional<std::uint64_t> write_buffer;
  std::optional<unsigned> threads;
  bool far = false;     ///< The store is at a server.
  bool writes = false;  ///< The mount may write.
  bool ring = false;    ///< Requests may come by io_uring.
};

/// Bytes. All together are the bound.
struct MemoryPlan {
  std::uint64_t bound = 0;
  unsigned threads = 0;        ///< Requests served at once.
  std::uint64_t base = 0;      ///< The program, its threads with their buffers, small tables.
  std::uint64_t names = 0;     ///< What the kernel knows by name, and the numbers of chunks.
  std::uint64_t nodes = 0;     ///< Groups and arrays as they are shown.
  std::uint64_t indexes = 0;   ///< Of shards.
  std::uint64_t decoding = 0;  ///< Chunks that are decoded, and those that were last.
  std::uint64_t remote = 0;    ///< What came from a server.
  std::uint64_t bodies = 0;    ///< What comes from it.
  std::uint64_t written = 0;   ///< What is being written.
  std::uint64_t ring = 0;      ///< Of io_uring.
};

/// The part of the machine's memory that is the bound where `memory=` is not given.
inline constexpr std::uint64_t kPartOfMachine = 4;

/// `machine`: bytes of memory that there are. kInvalid, naming options, where what was asked for is
/// more than the bound, or the bound is too small for a daemon.
Result<MemoryPlan> plan_memory(const MemoryWishes& wishes, std::uint64_t machine);

/// Bytes of memory that this process can have: the machine's, or what its control groups (v1 or v2)
/// allow, whichever is less. `root`: put before the absolute paths that are read.
std::uint64_t machine_memory(const std::string& root = "");

}  // namespace zarrfs
