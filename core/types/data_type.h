// Data types of arrays. Source: Zarr v3 core ("Data types") and zarr-extensions (data-types/).
// Immutable values; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace zarrfs {

enum class TypeKind {
  kBool,
  kInt,            ///< int8 to int64
  kUint,           ///< uint8 to uint64
  kFloat,          ///< float16, float32, float64
  kComplex,        ///< complex64, complex128
  kSmallInt,       ///< int2, int4: one element a byte, upper bits arbitrary
  kSmallUint,      ///< uint2, uint4
  kSmallFloat,     ///< bfloat16, float8_*, float6_*, float4_*
  kSmallComplex,   ///< pairs of float16 or kSmallFloat
  kRaw,            ///< r8, r16, ... and raw_bytes
  kFixedBytes,     ///< null_terminated_bytes
  kFixedUtf32,     ///< fixed_length_utf32
  kDatetime,       ///< numpy.datetime64
  kTimedelta,      ///< numpy.timedelta64
  kStruct,         ///< struct and structured
  kString,         ///< variable-length UTF-8
  kVariableBytes,  ///< variable-length bytes
};

struct Field;

struct DataType {
  TypeKind kind = TypeKind::kUint;
  std::string name;                ///< Canonical v3 name: "int32", "bfloat16", "r16", "string", ...
  std::uint32_t size = 0;          ///< Bytes of one element in memory; 0 for variable-length types.
  std::string unit;                ///< Of datetimes: "ns", "us", "D", ..., "generic".
  std::uint64_t scale_factor = 1;  ///< Of datetimes.
  std::vector<Field> fields;       ///< Of structs, packed in this order.
  bool legacy_struct = false;      ///< Spelled "structured" (fields as pairs) rather than "struct".
  HeldJson spelled;                ///< As the metadata has it (3.0 form: core types as strings).

  [[nodiscard]] bool variable_length() const { return size == 0; }
  /// Bytes that byte order turns round as one unit: 8 for complex128, 4 for fixed_length_utf32, 1
  /// where order does not matter. For structs: 1 if no field has an order.
  [[nodiscard]] std::uint32_t swap_unit() const;
};

struct Field {
  std::string name;
  DataType type;
};

/// Parses `data_type` of a v3 document in any spelling of core 3.0 and 3.1 and of the extensions.
/// kUnsupported, by name, for types that zarrfs does not know; kDamaged for malformed ones.
Result<DataType> parse_data_type(const Json& spelled);

/// Turns the byte order of elements round, in place (fields of structs each by their own size).
void swap_elements(const DataType& type, MutableByteView elements);

/// The element that a v3 `fill_value` stands for: type.size bytes, little-endian; the bytes of the
/// value itself for variable-length types. `order_is_big` tells the byte order of base64 fills of
/// "structured" types (the bytes codec's).
Result<Bytes> parse_fill_value(const DataType& type, const Json& fill_value, bool order_is_big);

/// The v3 `fill_value` of an element (the inverse of parse_fill_value; hexadecimal where a NaN's
/// payload asks for it).
Json render_fill_value(const DataType& type, ByteView element, bool order_is_big);

/// The numpy type that holds every value of `type`: bfloat16 -> float32, int4 -> int8, ...; `type`
/// itself where numpy has it.
DataType widened(const DataType& type);

/// Elements of `type` as elements of widened(type). Exact.
Bytes widen(const DataType& type, ByteView elements);

/// The inverse of widen: rounds to nearest even; kInvalid where an integer does not fit.
Result<Bytes> narrow(const DataType& type, ByteView widened_elements);

/// A numpy typestr with '<', '>' or '|': "<i4", "|b1", "<M8[10us]", "|V7", "<U3", "|O".
/// Not for structs (see v2_dtype in core/present) and not for types that numpy lacks.
std::string numpy_typestr(const DataType& type, bool big_endian);

/// The type of a numpy typestr or bare name ("<i4", "int32", "|u1"), with its byte order.
/// kUnsupported for others.
struct NumpyType {
  DataType type;
  bool big_endian = false;
};
Result<NumpyType> parse_numpy_type(std::string_view text);

}  // namespace zarrfs
