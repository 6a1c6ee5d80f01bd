#include "core/base/hash.h"

namespace zarrfs {

std::uint64_t mix_numbers(std::uint64_t a, std::uint64_t b) {
  std::uint64_t value = a + b * 0x9E3779B97F4A7C15U + 0x7F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

std::uint64_t digest_of(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : text) value = (value ^ static_cast<std::uint8_t>(c)) * 0x100000001B3U;
  return mix_numbers(value, text.size());
}

}  // namespace zarrfs
