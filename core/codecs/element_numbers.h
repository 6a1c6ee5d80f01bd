// Elements as numbers: for codecs that calculate. Rounding and wrapping are numpy's.
// Pure functions; thread-safe.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codecs/codec.h"
#include "core/types/data_type.h"
#include "core/types/small_float.h"

namespace zarrfs {

/// An element of type bool: any byte but zero is true.
struct BoolByte {
  std::uint8_t byte;
};

/// An element of type float16. Arithmetic is done as float and rounded.
struct Half {
  std::uint16_t code;
};

/// The value of an element in a type that C++ calculates with.
template <class T>
constexpr T number_of(T element) {
  return element;
}
constexpr std::uint8_t number_of(BoolByte element) { return element.byte != 0 ? 1 : 0; }
inline float number_of(Half element) { return decode_small_float(half_format(), element.code); }

/// A number as an element, as numpy's astype: integers wrap, fractions are cut off.
template <class To, class From>
To element_of(From number) {
  if constexpr (std::is_same_v<To, BoolByte>) {
    return {static_cast<std::uint8_t>(number != 0)};
  } else if constexpr (std::is_same_v<To, Half>) {
    const auto code = std::is_same_v<From, float>
                          ? narrow_to_small_float(half_format(), static_cast<float>(number))
                          : encode_small_float(half_format(), static_cast<double>(number));
    return {static_cast<std::uint16_t>(code.value_or(0))};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr auto kEdge = static_cast<From>(9223372036854775808.0);  // 2^63
    if (number >= -kEdge && number < kEdge) {
      return static_cast<To>(static_cast<std::int64_t>(number));
    }
    if (number >= kEdge && number < 2 * kEdge) {
      return static_cast<To>(static_cast<std::uint64_t>(number));
    }
    return static_cast<To>(std::numeric_limits<std::int64_t>::min());
  } else {
    return static_cast<To>(number);
  }
}

template <class T>
T load_element(ByteView elements, std::size_t index) {
  T element;
  std::memcpy(&element, elements.data() + index * sizeof(T), sizeof(T));
  return element;
}

template <class T>
void store_element(Bytes& elements, std::size_t index, T element) {
  std::memcpy(elements.data() + index * sizeof(T), &element, sizeof(T));
}

/// Whether elements are single numbers that numpy calculates with: bool, integers, floats.
bool is_number(const DataType& type);

/// Calls use(T{}) with the element type T of `type`, which is a float.
template <class Use>
auto with_float_type(const DataType& type, const Use& use) {
  if (type.size == 2) return use(Half{});
  if (type.size == 4) return use(float{});
  return use(double{});
}

/// As with_float_type, for integers.
template <class Use>
auto with_integer_type(const DataType& type, const Use& use) {
  const bool has_sign = type.kind == TypeKind::kInt;
  switch (type.size) {
    case 1: return has_sign ? use(std::int8_t{}) : use(std::uint8_t{});
    case 2: return has_sign ? use(std::int16_t{}) : use(std::uint16_t{});
    case 4: return has_sign ? use(std::int32_t{}) : use(std::uint32_t{});
    default: return has_sign ? use(std::int64_t{}) : use(std::uint64_t{});
  }
}

/// As with_float_type, for all that is_number().
template <class Use>
auto with_number_type(const DataType& type, const Use& use) {
  if (type.kind == TypeKind::kFloat) return with_float_type(type, use);
  if (type.kind == TypeKind::kBool) return use(BoolByte{});
  return with_integer_type(type, use);
}

/// Elements of `from` as elements of `to`; both are numbers, and `elements` is a whole number of
/// them.
Bytes convert_numbers(ByteView elements, const DataType& from, const DataType& to);

/// Whether `bytes` are the bytes of `elements`; the message names `codec`.
Result<void> check_elements(const char* codec, ByteView bytes, const Elements& elements);

/// kUnsupported where the elements that reach `codec` are not numbers.
Result<void> require_numbers(const char* codec, const DataType& type);

/// kDamaged where `named`, which a configuration says the elements are of, is not `type`.
Result<void> require_same_type(const char* codec, const DataType& named, const DataType& type);

}  // namespace zarrfs
