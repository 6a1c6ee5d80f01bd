#include "core/base/bytes.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace zarrfs {

void swap_items(MutableByteView bytes, std::size_t item_size) {
  if (item_size < 2) return;
  for (std::size_t at = 0; at + item_size <= bytes.size(); at += item_size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + item_size));
  }
}

std::uint32_t crc32c(ByteView bytes, std::uint32_t previous) {
  constexpr std::size_t kStep = std::size_t{1} << 30U;  // ISA-L takes an int length
  std::uint32_t value = ~previous;
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kStep);
    // ISA-L takes a pointer to non-const but only reads.
    value = crc32_iscsi(const_cast<std::uint8_t*>(bytes.data()), static_cast<int>(n), value);
    bytes = bytes.subspan(n);
  }
  return ~value;
}

std::string spell_range(ByteRange range) {
  std::string text = "[";
  text += std::to_string(range.offset);
  text += ", +";
  text += std::to_string(range.length);
  text += ")";
  return text;
}

}  // namespace zarrfs
