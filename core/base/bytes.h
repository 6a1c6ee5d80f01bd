// Bytes, byte ranges and arithmetic that cannot wrap. Everything in a store is untrusted: sizes
// and offsets are combined only by the functions here. Pure functions; thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zarrfs {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using MutableByteView = std::span<std::uint8_t>;

/// `length` bytes at `offset` of a file.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool operator==(const ByteRange&) const = default;
};

/// Whether `range` lies within [0, size).
constexpr bool lies_within(ByteRange range, std::uint64_t size) {
  return range.offset <= size && range.length <= size - range.offset;
}

/// The range of a file that `inner`, a range of the part `part` of it, is. `inner` lies within the
/// part.
constexpr ByteRange range_within(ByteRange part, ByteRange inner) {
  return {part.offset + inner.offset, inner.length};
}

/// For messages: "[9000, +512)".
std::string spell_range(ByteRange range);

/// a * b, or nothing where that does not fit 64 bits.
constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// a + b, or nothing where that does not fit 64 bits.
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// The product of all numbers (1 for none), or nothing where it does not fit 64 bits.
inline std::optional<std::uint64_t> checked_product(std::span<const std::uint64_t> numbers) {
  std::uint64_t product = 1;
  for (const std::uint64_t number : numbers) {
    const auto next = checked_multiply(product, number);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

/// a / b rounded up; b > 0.
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

static_assert(std::endian::native == std::endian::little, "zarrfs runs on little-endian machines");

/// The little-endian integer at the start of `bytes`, which holds at least sizeof(T) bytes.
template <class T>
T load_little(ByteView bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// Appends `value`, little-endian.
template <class T>
void append_little(Bytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

/// Reverses each item of `item_size` bytes in place: little-endian <-> big-endian.
/// bytes.size() is a multiple of item_size.
void swap_items(MutableByteView bytes, std::size_t item_size);

/// CRC-32C (Castagnoli) of `bytes`, as the crc32c codec and iSCSI define it; `previous` continues
/// an earlier value over the bytes before.
std::uint32_t crc32c(ByteView bytes, std::uint32_t previous = 0);

}  // namespace zarrfs
