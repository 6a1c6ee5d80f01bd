#include "core/types/small_float.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace zarrfs {
namespace {

using Special = SmallFloat::Special;

constexpr std::array kFormats = {
    SmallFloat{"float16", 5, 10, 15, Special::kIeee},
    SmallFloat{"bfloat16", 8, 7, 127, Special::kIeee},
    SmallFloat{"float8_e3m4", 3, 4, 3, Special::kIeee},
    SmallFloat{"float8_e4m3", 4, 3, 7, Special::kIeee},
    SmallFloat{"float8_e4m3b11fnuz", 4, 3, 11, Special::kFnuz},
    SmallFloat{"float8_e4m3fn", 4, 3, 7, Special::kFn},
    SmallFloat{"float8_e4m3fnuz", 4, 3, 8, Special::kFnuz},
    SmallFloat{"float8_e5m2", 5, 2, 15, Special::kIeee},
    SmallFloat{"float8_e5m2fnuz", 5, 2, 16, Special::kFnuz},
    SmallFloat{"float8_e8m0fnu", 8, 0, 127, Special::kE8m0},
    SmallFloat{"float6_e2m3fn", 2, 3, 1, Special::kFinite},
    SmallFloat{"float6_e3m2fn", 3, 2, 3, Special::kFinite},
    SmallFloat{"float4_e2m1fn", 2, 1, 1, Special::kFinite},
};

/// The code of magnitude bits only: exponent and fraction, no sign.
std::uint32_t magnitude_mask(const SmallFloat& format) {
  return (1U << (format.exponent_bits + format.fraction_bits)) - 1U;
}

std::uint32_t sign_bit(const SmallFloat& format) { return magnitude_mask(format) + 1U; }

std::uint32_t infinity_code(const SmallFloat& format) {
  return ((1U << format.exponent_bits) - 1U) << format.fraction_bits;
}

std::uint32_t largest_finite(const SmallFloat& format) {
  switch (format.special) {
    case Special::kIeee: return infinity_code(format) - 1U;
    case Special::kFn:
    case Special::kE8m0: return magnitude_mask(format) - 1U;
    case Special::kFnuz:
    case Special::kFinite: break;
  }
  return magnitude_mask(format);
}

/// The NaN that a NaN without a payload becomes.
std::optional<std::uint32_t> nan_code(const SmallFloat& format, bool negative) {
  const std::uint32_t sign = negative ? sign_bit(format) : 0U;
  switch (format.special) {
    case Special::kIeee: return sign | infinity_code(format) | 1U << (format.fraction_bits - 1U);
    case Special::kFn: return sign | magnitude_mask(format);
    case Special::kFnuz: return sign_bit(format);
    case Special::kE8m0: return magnitude_mask(format);
    case Special::kFinite: break;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> overflow_code(const SmallFloat& format, bool negative) {
  const std::uint32_t sign = negative ? sign_bit(format) : 0U;
  if (format.special == Special::kIeee) return sign | infinity_code(format);
  if (format.special == Special::kFinite) return sign | largest_finite(format);
  return nan_code(format, negative);
}

/// The code of the positive finite `value`, which may lie past the largest finite one.
std::uint32_t rounded_magnitude(const SmallFloat& format, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const bool has_subnormals = format.special != Special::kE8m0;
  const int lowest = (has_subnormals ? 1 : 0) - format.bias;
  const int used = std::max(exponent - 1, lowest);
  const double steps = std::nearbyint(std::ldexp(value, format.fraction_bits - used));
  const auto quanta = static_cast<std::uint32_t>(steps);
  // A carry out of the fraction moves on to the next exponent by itself.
  const auto field = static_cast<std::uint32_t>(used - lowest);
  if (!has_subnormals) return field + std::max(quanta, 1U) - 1U;
  return (field << format.fraction_bits) + quanta;
}

float nan_with_payload(bool negative, std::uint32_t payload) {
  return std::bit_cast<float>((negative ? 0x80000000U : 0U) | 0x7F800000U | payload);
}

}  // namespace

std::uint32_t SmallFloat::bits() const {
  const std::uint32_t sign = special == Special::kE8m0 ? 0 : 1;
  return sign + exponent_bits + fraction_bits;
}

const SmallFloat* find_small_float(std::string_view name) {
  const auto* const found =
      std::find_if(kFormats.begin(), kFormats.end(),
                   [&](const SmallFloat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

const SmallFloat& half_format() { return kFormats[0]; }

float decode_small_float(const SmallFloat& format, std::uint32_t code) {
  const std::uint32_t magnitude = code & magnitude_mask(format);
  if (format.special == Special::kE8m0) {
    if (magnitude == magnitude_mask(format)) return nan_with_payload(false, 0x400000U);
    return std::ldexp(1.0F, static_cast<int>(magnitude) - format.bias);
  }
  const bool negative = (code & sign_bit(format)) != 0;
  if (format.special == Special::kFnuz && negative && magnitude == 0) {
    return nan_with_payload(false, 0x400000U);
  }
  if (format.special == Special::kFn && magnitude == magnitude_mask(format)) {
    return nan_with_payload(negative, 0x400000U);
  }
  const std::uint32_t fraction = magnitude & ((1U << format.fraction_bits) - 1U);
  if (format.special == Special::kIeee && magnitude >= infinity_code(format)) {
    return nan_with_payload(negative, fraction << (23U - format.fraction_bits));
  }
  const auto exponent = static_cast<int>(magnitude >> format.fraction_bits);
  const std::uint32_t leading = exponent == 0 ? 0U : 1U << format.fraction_bits;
  const float value = std::ldexp(static_cast<float>(fraction + leading),
                                 std::max(exponent, 1) - format.bias - format.fraction_bits);
  return negative ? -value : value;
}

std::optional<std::uint32_t> encode_small_float(const SmallFloat& format, double value) {
  const bool negative = std::signbit(value);
  if (std::isnan(value)) return nan_code(format, negative);
  if (format.special == Special::kE8m0 && (negative || value == 0)) return std::nullopt;
  if (std::isinf(value)) return overflow_code(format, negative);
  const double limit = std::ldexp(1.0, 2 + (1 << format.exponent_bits) - format.bias);
  if (std::abs(value) >= limit) return overflow_code(format, negative);
  const std::uint32_t magnitude = value == 0 ? 0U : rounded_magnitude(format, std::abs(value));
  if (magnitude > largest_finite(format)) return overflow_code(format, negative);
  if (magnitude == 0 && format.special == Special::kFnuz) return 0U;
  return magnitude | (negative ? sign_bit(format) : 0U);
}

std::optional<std::uint32_t> narrow_to_small_float(const SmallFloat& format, float value) {
  if (format.special != Special::kIeee || !std::isnan(value)) {
    return encode_small_float(format, value);
  }
  const auto raw = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t payload = (raw & 0x7FFFFFU) >> (23U - format.fraction_bits);
  if (payload == 0) return nan_code(format, std::signbit(value));
  return (std::signbit(value) ? sign_bit(format) : 0U) | infinity_code(format) | payload;
}

}  // namespace zarrfs
