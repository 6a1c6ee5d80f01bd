#include "core/present/presentation_fill.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/present/presentation_grid.h"

namespace zarrfs {
namespace {

/// Bytes of the count in front of elements of variable length, and of the length of each.
constexpr std::size_t kCount = sizeof(std::uint32_t);

std::size_t item_size(const DataType& type, ByteView element) {
  return element.size() + (type.variable_length() ? kCount : 0);
}

void put_count(std::uint8_t* at, std::uint64_t count) {
  const auto value = static_cast<std::uint32_t>(count);
  std::memcpy(at, &value, kCount);
}

/// Size of a chunk full of `element`, in memory order; kUnsupported above `limit`.
Result<std::uint64_t> filled_size(const DataType& type, ByteView element,
                                  const std::vector<std::uint64_t>& shape, std::uint64_t limit) {
  const auto count = checked_product(shape);
  const auto bytes = count ? checked_multiply(*count, item_size(type, element)) : std::nullopt;
  const auto size = bytes ? checked_add(*bytes, type.variable_length() ? kCount : 0) : std::nullopt;
  if (size && *size <= limit) return *size;
  return fail(Fault::kUnsupported, "a chunk full of the fill value would have more than " +
                                       std::to_string(limit) + " bytes");
}

}  // namespace

Result<Bytes> fill_elements(const DataType& type, ByteView element,
                            const std::vector<std::uint64_t>& shape) {
  ZARRFS_TRY(const std::uint64_t size, filled_size(type, element, shape, kMaxDecodedChunk));
  const bool counted = type.variable_length();
  Bytes elements(size);
  std::uint8_t* at = elements.data();
  if (counted) {
    put_count(at, checked_product(shape).value_or(0));
    at += kCount;
  }
  for (const std::uint8_t* end = elements.data() + size; at != end;) {
    if (counted) {
      put_count(at, element.size());
      at += kCount;
    }
    at = std::copy(element.begin(), element.end(), at);
  }
  return elements;
}

Result<Bytes> make_fill_chunk(const Presentation& presentation) {
  const ArrayMetadata& array = *presentation.array;
  const std::vector<std::uint64_t>& shape = presentation.chunk_shape;
  ZARRFS_CHECK(filled_size(array.type, array.fill, shape, kMaxFillChunk));
  ZARRFS_TRY(const Bytes elements, fill_elements(array.type, array.fill, shape));
  const bool decoded =
      presentation.rule == ByteRule::kDecode || presentation.rule == ByteRule::kRechunk;
  if (decoded) return presentation.present_elements(elements);
  ZARRFS_TRY(const Bytes stored, presentation.layout->chunk_chain().encode(elements));
  return presentation.present(stored);
}

}  // namespace zarrfs
