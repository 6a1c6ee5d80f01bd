// Takes the input of a fuzz target apart: a line of text up to a NUL, numbers, the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace zarrfs::fuzz {

struct Input {
  ByteView rest;

  /// The next byte; 0 where there is none.
  std::uint8_t byte() {
    if (rest.empty()) return 0;
    const std::uint8_t value = rest.front();
    rest = rest.subspan(1);
    return value;
  }
  /// Little-endian; missing bytes are 0.
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) value |= std::uint64_t{byte()} << shift;
    return value;
  }
  /// What is in front of the next NUL, or all.
  std::string_view text() {
    const auto end = std::find(rest.begin(), rest.end(), std::uint8_t{0});
    const auto length = static_cast<std::size_t>(end - rest.begin());
    const std::string_view value(reinterpret_cast<const char*>(rest.data()), length);
    rest = rest.subspan(std::min(length + 1, rest.size()));
    return value;
  }
};

/// Stops the fuzzer: something that must hold does not.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace zarrfs::fuzz
