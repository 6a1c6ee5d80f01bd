#include "core/codecs/decoding_room.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/lock_order.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kLeast = std::uint64_t{64} << 20U;

std::uint64_t half_of_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return kLeast;
  return std::max(kLeast, static_cast<std::uint64_t>(pages) / 2 * static_cast<std::uint64_t>(size));
}

struct Rooms {
  TableMutex mutex;
  RankedCondition left;
  std::uint64_t limit = half_of_memory();
  std::uint64_t taken = 0;
};

Rooms& rooms() {
  static Rooms all;
  return all;
}

thread_local bool has_room = false;
thread_local std::uint64_t left_here = 0;  // of the room that this thread has

}  // namespace

void set_decoding_memory(std::uint64_t bytes) {
  const std::lock_guard lock(rooms().mutex);
  rooms().limit = bytes;
}

std::uint64_t decoding_memory() {
  const std::lock_guard lock(rooms().mutex);
  return rooms().limit;
}

std::uint64_t decoding_memory_taken() {
  const std::lock_guard lock(rooms().mutex);
  return rooms().taken;
}

Result<DecodingRoom> DecodingRoom::take(std::uint64_t bytes) {
  Rooms& all = rooms();
  std::unique_lock lock(all.mutex);
  // What a thread lacks of the room that it has is added, but never waited for: others may wait for
  // what this thread has.
  const std::uint64_t most =
      has_room ? left_here + (all.limit - std::min(all.limit, all.taken)) : all.limit;
  if (bytes > most) {
    return fail(Fault::kNoMemory, "decoding it takes " + std::to_string(bytes) +
                                      " bytes of memory, and it may take " + std::to_string(most) +
                                      " (option decode_memory)");
  }
  if (has_room) {
    const std::uint64_t added = bytes - std::min(bytes, left_here);
    all.taken += added;
    left_here += added;
    left_here -= bytes;
    return DecodingRoom(bytes, true);
  }
  all.left.wait(lock, [&] { return bytes <= all.limit && all.taken <= all.limit - bytes; });
  all.taken += bytes;
  has_room = true;
  left_here = bytes;
  return DecodingRoom(bytes, false);
}

DecodingRoom::DecodingRoom(DecodingRoom&& other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)), within_(std::exchange(other.within_, true)) {}

DecodingRoom::~DecodingRoom() {
  if (within_) {
    left_here += bytes_;
    return;
  }
  has_room = false;
  Rooms& all = rooms();
  {
    const std::lock_guard lock(all.mutex);
    all.taken -= left_here;  // with what was added to it
  }
  all.left.notify_all();
}

}  // namespace zarrfs
