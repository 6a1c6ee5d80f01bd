// How much memory decoding may take at once in this process: what a store says of itself decides
// how large its chunks are, so a few bytes of it may ask for all there is. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace zarrfs {

/// Bytes for decoding: half of the machine's memory until set otherwise.
void set_decoding_memory(std::uint64_t bytes);
std::uint64_t decoding_memory();
/// What threads have of it now.
std::uint64_t decoding_memory_taken();

/// Room that a thread has while it lives. A thread that has room takes more within it.
class DecodingRoom {
 public:
  /// Waits until others have left enough; a thread that has room already never waits, and gets what
  /// it lacks only where nobody has it. kNoMemory where there is not enough.
  static Result<DecodingRoom> take(std::uint64_t bytes);
  DecodingRoom(DecodingRoom&& other) noexcept;
  DecodingRoom(const DecodingRoom&) = delete;
  DecodingRoom& operator=(const DecodingRoom&) = delete;
  DecodingRoom& operator=(DecodingRoom&&) = delete;
  ~DecodingRoom();

 private:
  DecodingRoom(std::uint64_t bytes, bool within) : bytes_(bytes), within_(within) {}
  std::uint64_t bytes_;
  bool within_;  ///< The room of this thread that was there before.
};

}  // namespace zarrfs
