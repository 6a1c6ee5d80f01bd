// Floating-point formats that C++ has no type for: float16, bfloat16 and the float8, float6 and
// float4 families. Source: zarr-extensions (data-types/), which follow ml_dtypes and the OCP
// specifications of 8-bit floats and of microscaling formats.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

struct SmallFloat {
  /// What the codes with the largest exponent stand for.
  enum class Special : std::uint8_t {
    kIeee,    ///< Infinity and NaN, as in IEEE 754.
    kFn,      ///< Finite, but all ones is NaN.
    kFnuz,    ///< Finite; the code of negative zero is the only NaN.
    kFinite,  ///< Finite throughout.
    kE8m0,    ///< No sign, no zero, no fraction; all ones is NaN.
  };
  std::string_view name;
  std::uint8_t exponent_bits;
  std::uint8_t fraction_bits;
  std::int16_t bias;
  Special special;

  /// Bits of a code: of 16-bit formats 16, of float6 6, ...
  [[nodiscard]] std::uint32_t bits() const;
  /// Bytes of an element in memory: 1 or 2.
  [[nodiscard]] std::uint32_t size() const { return bits() > 8 ? 2 : 1; }
};

/// The format of a data type's name ("bfloat16", "float8_e5m2", ...); null for others.
const SmallFloat* find_small_float(std::string_view name);

/// float16, which numpy has too.
const SmallFloat& half_format();

/// The value of a code; exact. Bits above format.bits() are ignored. The payload of an IEEE NaN
/// becomes the upper bits of the result's payload.
float decode_small_float(const SmallFloat& format, std::uint32_t code);

/// The code nearest to `value`, ties to even; too large values become infinity, NaN where the
/// format has no infinity, or the largest number where it has neither. Nothing for what the format
/// cannot say at all: NaN in finite formats, zero and negative numbers in e8m0.
std::optional<std::uint32_t> encode_small_float(const SmallFloat& format, double value);

/// As encode_small_float, and the payload of a NaN is kept where it fits (the inverse of
/// decode_small_float).
std::optional<std::uint32_t> narrow_to_small_float(const SmallFloat& format, float value);

}  // namespace zarrfs
