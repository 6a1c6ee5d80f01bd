// An entry of a ring: memory that the kernel puts one request into, and takes its answer from.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "fs/ring/ring_layout.h"

namespace zarrfs {

/// Used by the thread whose entry it is; claim() by any.
class RingEntry {
 public:
  static Result<std::unique_ptr<RingEntry>> make(std::size_t payload);
  ~RingEntry();
  RingEntry(const RingEntry&) = delete;
  RingEntry& operator=(const RingEntry&) = delete;

  /// For the command that registers it: header and payload.
  [[nodiscard]] const std::array<iovec, 2>& parts() const { return parts_; }

  /// A request came: its id is taken. The message for libfuse, or nothing where it makes no sense.
  std::optional<std::span<char>> arrived();
  /// The request that came last.
  [[nodiscard]] fuse_in_header request() const;
  /// Where the answer's bytes may be made, so that answer() copies none; empty where `size` do not
  /// fit, or the request has bytes there itself.
  [[nodiscard]] std::span<char> room(std::size_t size) const;
  /// Whether it is `unique`, without an answer; the thread that gets true gives it by answer().
  bool claim(std::uint64_t unique);
  /// The answer, for the command that gives it to the kernel. How many bytes libfuse gave.
  std::size_t answer(std::span<const iovec> answer);
  /// The kernel's number of the request.
  [[nodiscard]] std::uint64_t commit_id() const { return commit_id_; }

 private:
  RingEntry(char* memory, std::size_t payload);
  [[nodiscard]] RingHeader& header() const { return *reinterpret_cast<RingHeader*>(memory_); }

  char* memory_;  ///< The header, room for gather(), the payload.
  std::span<char> payload_;
  std::array<iovec, 2> parts_;
  std::atomic<std::uint64_t> unique_{0};
  std::uint64_t commit_id_ = 0;
};

}  // namespace zarrfs
