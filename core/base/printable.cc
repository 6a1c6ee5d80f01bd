#include "core/base/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace zarrfs {
namespace {

/// A code point of UTF-8 text and the bytes it takes; 0 bytes where the text is not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

CodePoint next_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t bytes = 0;
  if (first >= 0xC2 && first <= 0xDF) bytes = 2;
  if (first >= 0xE0 && first <= 0xEF) bytes = 3;
  if (first >= 0xF0 && first <= 0xF4) bytes = 4;
  if (bytes == 0 || text.size() < bytes) return {};
  std::uint32_t value = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  const bool too_long = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (too_long || surrogate || value > 0x10FFFF) return {};
  return {value, bytes};
}

/// Whether a code point moves the cursor, ends the line or turns the direction of a log line.
bool changes_the_line(std::uint32_t value) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) {
    return value >= low && value <= high;
  };
  return value < 0x20 || within(0x7F, 0x9F) || within(0x200E, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2066, 0x2069);
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char hex[5];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<std::uint8_t>(c)));
    text += hex;
  }
  return text;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    const std::string_view raw = text.substr(0, bytes);
    std::string piece(raw);
    if (raw == "\\") piece = "\\\\";
    if (point.bytes == 0 || changes_the_line(point.value)) piece = escaped(raw);
    if (out.size() + piece.size() > limit) return out + "...";
    out += piece;
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace zarrfs
