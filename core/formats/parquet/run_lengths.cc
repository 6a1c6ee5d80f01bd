#include "core/formats/parquet/run_lengths.h"

#include <algorithm>
#include <string>

namespace zarrfs {
namespace {

constexpr unsigned kMostWidth = 32;
constexpr unsigned kByteBits = 8;
constexpr std::size_t kGroup = 8;  // numbers that are packed come in eights

/// The number of `width` bits at bit `at`; the bytes hold it.
std::uint32_t packed_number(ByteView bytes, std::size_t at, unsigned width) {
  std::uint64_t window = 0;
  const std::size_t first = at / kByteBits;
  const std::size_t end = divide_up(at + width, kByteBits);
  for (std::size_t i = first; i < end; ++i) {
    window |= static_cast<std::uint64_t>(bytes[i]) << (kByteBits * (i - first));
  }
  return static_cast<std::uint32_t>((window >> (at % kByteBits)) &
                                    ((std::uint64_t{1} << width) - 1));
}

tl::unexpected<Error> too_few(std::size_t found, std::size_t wanted) {
  return fail(Fault::kDamaged,
              "a page holds " + std::to_string(found) + " numbers of " + std::to_string(wanted));
}

/// Seven bits a byte, the lowest first; takes them from `bytes`. Nothing past the end.
std::optional<std::uint64_t> take_header(ByteView& bytes) {
  constexpr unsigned kBits = 7;
  constexpr std::uint8_t kMore = 0x80;
  std::uint64_t header = 0;
  for (unsigned shift = 0; shift < kMostWidth && !bytes.empty(); shift += kBits) {
    const std::uint8_t next = bytes.front();
    bytes = bytes.subspan(1);
    header |= static_cast<std::uint64_t>(next & ~kMore) << shift;
    if ((next & kMore) == 0) return header;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::uint32_t>> read_run_lengths(ByteView bytes, unsigned width,
                                                    std::size_t count) {
  if (width > kMostWidth) {
    return fail(Fault::kDamaged, "numbers have " + std::to_string(width) + " bits, not up to 32");
  }
  if (width == 0) return std::vector<std::uint32_t>(count);  // whatever is written of them
  std::vector<std::uint32_t> numbers;
  while (numbers.size() < count) {
    const auto header = take_header(bytes);
    if (!header || *header <= 1) return too_few(numbers.size(), count);
    const std::size_t left = count - numbers.size();
    if ((*header & 1U) != 0) {
      // The last eight may be cut off behind the numbers that are there.
      const std::uint64_t told = (*header >> 1U) * kGroup;
      const std::uint64_t held = std::uint64_t{bytes.size()} * kByteBits / width;
      const std::uint64_t packed = std::min({told, held, std::uint64_t{left}});
      if (packed == 0) return too_few(numbers.size(), count);
      for (std::size_t i = 0; i < packed; ++i) {
        numbers.push_back(packed_number(bytes, i * width, width));
      }
      bytes = bytes.subspan(std::min<std::uint64_t>(bytes.size(), (*header >> 1U) * width));
    } else {
      const std::size_t size = divide_up(width, kByteBits);
      if (bytes.size() < size) return too_few(numbers.size(), count);
      const std::uint32_t number = packed_number(bytes, 0, width);
      numbers.insert(numbers.end(), std::min<std::uint64_t>(left, *header >> 1U), number);
      bytes = bytes.subspan(size);
    }
  }
  return numbers;
}

}  // namespace zarrfs
