// Elements as numbers, for the codecs that calculate: one place that knows how each numeric type is
// loaded and stored. Pure functions; thread-safe.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "core/codec/codec.h"

namespace zarrfs {

/// The type that `member` of a codec's configuration names, a number; `otherwise` where there is
/// none. Byte orders other than the native one are kUnsupported: zarr-python stores such data in
/// another order than the configuration says.
Result<DataType> numeric_type_member(const Json& configuration, const char* codec,
                                     const char* member, const DataType& otherwise);

/// Calls `act` with a value of the C++ type of `type` (int8_t to int64_t, uint8_t to uint64_t,
/// float, double). False for others.
template <class Act>
bool with_number_type(const DataType& type, Act&& act) {
  switch (type.kind) {
    case TypeKind::kBool: return act(std::uint8_t{}), true;
    case TypeKind::kInt:
      if (type.size == 1) return act(std::int8_t{}), true;
      if (type.size == 2) return act(std::int16_t{}), true;
      if (type.size == 4) return act(std::int32_t{}), true;
      return act(std::int64_t{}), true;
    case TypeKind::kUint:
      if (type.size == 1) return act(std::uint8_t{}), true;
      if (type.size == 2) return act(std::uint16_t{}), true;
      if (type.size == 4) return act(std::uint32_t{}), true;
      return act(std::uint64_t{}), true;
    case TypeKind::kFloat:
      if (type.size == 4) return act(float{}), true;
      if (type.size == 8) return act(double{}), true;
      return false;
    default: return false;
  }
}

template <class T>
T load_element(ByteView bytes, std::size_t index) {
  return load_little<T>(bytes.subspan(index * sizeof(T)));
}

template <class T>
void store_element(Bytes& bytes, std::size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

/// As a C cast, but never undefined: what does not fit an integer becomes its least or greatest
/// value, NaN becomes 0.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (value != value) return To{0};
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

}  // namespace zarrfs
