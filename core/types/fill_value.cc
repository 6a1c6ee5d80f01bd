// Fill values: from the JSON of a v3 document to the bytes of an element, and back.
// Source: Zarr v3 core ("Fill value list") and zarr-extensions (data-types/).
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/types/data_type.h"
#include "core/types/small_float.h"

namespace zarrfs {
namespace {

auto refuse(const DataType& type, const Json& value, const std::string& reason) {
  return fail(Fault::kDamaged, "fill_value " + printable(dump_json(value), 80) + " of data type " +
                                   printable(type.name) + ": " + reason);
}

// ---- integers --------------------------------------------------------------------------------

struct IntegerRange {
  unsigned bits;
  bool has_sign;
};

IntegerRange range_of(const DataType& type) {
  const bool has_sign = type.kind == TypeKind::kInt || type.kind == TypeKind::kSmallInt ||
                        type.kind == TypeKind::kDatetime || type.kind == TypeKind::kTimedelta;
  if (type.kind == TypeKind::kSmallInt || type.kind == TypeKind::kSmallUint) {
    return {type.name.ends_with('2') ? 2U : 4U, has_sign};
  }
  if (type.kind == TypeKind::kBool) return {1, false};
  return {type.size * 8, has_sign};
}

/// The two's complement of a JSON number that is an integer within `range`.
std::optional<std::uint64_t> integer_bits(const Json& value, IntegerRange range) {
  const std::uint64_t top =
      range.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << range.bits) - 1;
  const std::uint64_t largest = range.has_sign ? top >> 1U : top;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= largest ? std::optional(number) : std::nullopt;
  }
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number >= 0) return integer_bits(Json(static_cast<std::uint64_t>(number)), range);
    const bool fits = range.has_sign && static_cast<std::uint64_t>(~number) <= largest;
    return fits ? std::optional(static_cast<std::uint64_t>(number)) : std::nullopt;
  }
  if (!value.is_number_float()) return std::nullopt;
  // 0.0 and the like, which some writers put where an integer belongs.
  const auto number = value.get<double>();
  constexpr double kExact = 9007199254740992.0;
  if (number != std::trunc(number) || std::abs(number) > kExact) return std::nullopt;
  if (number < 0) return integer_bits(Json(static_cast<std::int64_t>(number)), range);
  return integer_bits(Json(static_cast<std::uint64_t>(number)), range);
}

Bytes little_bytes(std::uint64_t bits, std::uint32_t size) {
  Bytes bytes;
  append_little(bytes, bits);
  bytes.resize(size);
  return bytes;
}

Result<Bytes> parse_integer(const DataType& type, const Json& value) {
  const auto bits = integer_bits(value, range_of(type));
  if (!bits) return refuse(type, value, "not an integer within its range");
  return little_bytes(*bits, type.size);
}

std::uint64_t little_bits(ByteView element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element.data(), std::min<std::size_t>(element.size(), 8));
  return bits;
}

Json render_integer(const DataType& type, ByteView element) {
  const IntegerRange range = range_of(type);
  const std::uint64_t bits = little_bits(element) << (64 - range.bits);
  if (range.has_sign) return static_cast<std::int64_t>(bits) >> (64 - range.bits);
  return bits >> (64 - range.bits);
}

Result<Bytes> parse_time(const DataType& type, const Json& value) {
  if (value == "NaT") return little_bytes(std::uint64_t{1} << 63U, 8);
  return parse_integer(type, value);
}

Json render_time(const DataType& type, ByteView element) {
  if (little_bits(element) == std::uint64_t{1} << 63U) return "NaT";
  return render_integer(type, element);
}

// ---- floats ----------------------------------------------------------------------------------

/// float16, bfloat16, ..., or null for the formats that C++ has.
const SmallFloat* small_format(const DataType& type) {
  if (type.kind == TypeKind::kFloat) return type.size == 2 ? &half_format() : nullptr;
  return find_small_float(type.name);
}

std::optional<std::uint64_t> hexadecimal(std::string_view text, std::size_t bytes) {
  if (!text.starts_with("0x") || text.size() != 2 + 2 * bytes) return std::nullopt;
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + 2, end, bits, 16);
  if (last != end || error != std::errc()) return std::nullopt;
  return bits;
}

std::string to_hexadecimal(std::uint64_t bits, std::size_t bytes) {
  std::string text = "0x";
  for (std::size_t digit = 2 * bytes; digit-- > 0;) {
    text += "0123456789abcdef"[bits >> (4 * digit) & 0xFU];
  }
  return text;
}

/// The number that a JSON value stands for; hexadecimal not included.
std::optional<double> json_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

/// The bits of `number` in the format of `type`; nothing where the format has no such number.
std::optional<std::uint64_t> float_bits(const DataType& type, double number) {
  if (const SmallFloat* format = small_format(type)) {
    const auto code = encode_small_float(*format, number);
    const bool overflow =
        code && std::isfinite(number) && !std::isfinite(decode_small_float(*format, *code));
    return overflow ? std::nullopt : std::optional<std::uint64_t>(code);
  }
  if (type.size == 8) return std::bit_cast<std::uint64_t>(number);
  if (std::isfinite(number) && std::abs(number) >= 0x1.ffffffp127) return std::nullopt;
  return std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

Result<Bytes> parse_float(const DataType& type, const Json& value) {
  if (value.is_string()) {
    const auto bits = hexadecimal(value.get_ref<const std::string&>(), type.size);
    if (bits) return little_bytes(*bits, type.size);
  }
  const auto number = json_number(value);
  if (!number) return refuse(type, value, "not a number, its name or its hexadecimal bits");
  const auto bits = float_bits(type, *number);
  if (!bits) return refuse(type, value, "out of range");
  return little_bytes(*bits, type.size);
}

double number_of_element(const DataType& type, ByteView element) {
  if (const SmallFloat* format = small_format(type)) {
    return decode_small_float(*format, static_cast<std::uint32_t>(little_bits(element)));
  }
  if (type.size == 8) return load_little<double>(element);
  return load_little<float>(element);
}

Json render_float(const DataType& type, ByteView element) {
  const double number = number_of_element(type, element);
  Json rendered = number;
  if (std::isnan(number)) rendered = "NaN";
  if (std::isinf(number)) rendered = number < 0 ? "-Infinity" : "Infinity";
  const auto back = parse_float(type, rendered);
  if (back && std::equal(back->begin(), back->end(), element.begin(), element.end())) {
    return rendered;
  }
  return to_hexadecimal(little_bits(element), type.size);
}

/// The type of one half of a complex number.
DataType component_of(const DataType& type) {
  DataType component;
  component.size = type.size / 2;
  component.kind = type.kind == TypeKind::kComplex ? TypeKind::kFloat : TypeKind::kSmallFloat;
  component.name = type.kind == TypeKind::kComplex
                       ? (component.size == 4 ? "float32" : "float64")
                       : type.name.substr(std::string_view("complex_").size());
  return component;
}

Result<Bytes> parse_complex(const DataType& type, const Json& value) {
  const DataType component = component_of(type);
  if (!value.is_array() || value.size() != 2) {
    return refuse(type, value, "not a pair of a real and an imaginary part");
  }
  ZARRFS_TRY(Bytes element, parse_float(component, value[0]));
  ZARRFS_TRY(const Bytes imaginary, parse_float(component, value[1]));
  element.insert(element.end(), imaginary.begin(), imaginary.end());
  return element;
}

Json render_complex(const DataType& type, ByteView element) {
  const DataType component = component_of(type);
  return Json::array({render_float(component, element.first(component.size)),
                      render_float(component, element.subspan(component.size))});
}

// ---- bytes and text --------------------------------------------------------------------------

/// An array of integers from 0 to 255.
std::optional<Bytes> byte_list(const Json& value) {
  Bytes bytes;
  bytes.reserve(value.size());
  for (const Json& one : value) {
    const auto byte = integer_bits(one, {8, false});
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(*byte));
  }
  return bytes;
}

std::optional<Bytes> hexadecimal_bytes(std::string_view text) {
  if (!text.starts_with("0x") || text.size() % 2 != 0) return std::nullopt;
  Bytes bytes;
  for (std::size_t at = 2; at < text.size(); at += 2) {
    std::uint8_t byte = 0;
    const auto [last, error] = std::from_chars(&text[at], &text[at] + 2, byte, 16);
    if (last != &text[at] + 2 || error != std::errc()) return std::nullopt;
    bytes.push_back(byte);
  }
  return bytes;
}

/// Integers, base64, or (of a known length) hexadecimal in the order of the bytes.
std::optional<Bytes> any_bytes(const Json& value, std::uint32_t length) {
  if (value.is_array()) return byte_list(value);
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  auto hexadecimal = hexadecimal_bytes(text);
  if (length != 0 && hexadecimal && hexadecimal->size() == length) return hexadecimal;
  return from_base64(text);
}

Result<Bytes> parse_raw(const DataType& type, const Json& value) {
  auto bytes = any_bytes(value, type.size);
  if (!bytes) return refuse(type, value, "neither a list of bytes nor base64");
  if (bytes->size() != type.size) {
    return refuse(
        type, value,
        "it has " + std::to_string(bytes->size()) + " bytes, not " + std::to_string(type.size));
  }
  return *std::move(bytes);
}

Result<Bytes> parse_fixed_bytes(const DataType& type, const Json& value) {
  auto bytes = any_bytes(value, type.size);
  if (!bytes) return refuse(type, value, "neither a list of bytes nor base64");
  if (bytes->size() > type.size) {
    return refuse(type, value, "it is longer than " + std::to_string(type.size) + " bytes");
  }
  bytes->resize(type.size);
  return *std::move(bytes);
}

/// The code points of UTF-8 text that the JSON parser has checked.
std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte & 0xC0U) == 0x80U && !points.empty()) {
      points.back() = points.back() << 6U | (byte & 0x3FU);
    } else {
      const int ones = std::countl_one(byte);
      points.push_back(ones == 0 ? byte : byte & (0x7FU >> static_cast<unsigned>(ones)));
    }
  }
  return points;
}

void append_utf8(std::string& text, std::uint32_t point) {
  if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) point = 0xFFFD;
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

Result<Bytes> parse_utf32(const DataType& type, const Json& value) {
  if (!value.is_string()) return refuse(type, value, "not a string");
  Bytes element;
  for (const std::uint32_t point : code_points(value.get_ref<const std::string&>())) {
    append_little(element, point);
  }
  if (element.size() > type.size) {
    return refuse(type, value,
                  "it is longer than " + std::to_string(type.size / 4) + " characters");
  }
  element.resize(type.size);
  return element;
}

Json render_utf32(ByteView element) {
  std::string text;
  std::size_t size = element.size();
  while (size >= 4 && load_little<std::uint32_t>(element.subspan(size - 4)) == 0) size -= 4;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    append_utf8(text, load_little<std::uint32_t>(element.subspan(at)));
  }
  return text;
}

Result<Bytes> parse_string(const DataType& type, const Json& value) {
  if (!value.is_string()) return refuse(type, value, "not a string");
  const auto& text = value.get_ref<const std::string&>();
  return Bytes(text.begin(), text.end());
}

Result<Bytes> parse_variable_bytes(const DataType& type, const Json& value) {
  auto bytes = any_bytes(value, 0);
  if (!bytes) return refuse(type, value, "neither a list of bytes nor base64");
  return *std::move(bytes);
}

// ---- structs ---------------------------------------------------------------------------------

/// The fields by name; all of them, and no others.
Result<Bytes> parse_fields(const DataType& type, const Json& value, bool order_is_big) {
  Bytes element;
  element.reserve(type.size);
  for (const Field& field : type.fields) {
    const auto found = value.find(field.name);
    if (found == value.end()) return refuse(type, value, "no field " + printable(field.name));
    ZARRFS_TRY(const Bytes bytes, parse_fill_value(field.type, *found, order_is_big));
    element.insert(element.end(), bytes.begin(), bytes.end());
  }
  if (value.size() != type.fields.size()) return refuse(type, value, "it has other fields too");
  return element;
}

Result<Bytes> parse_struct(const DataType& type, const Json& value, bool order_is_big) {
  if (value.is_object()) return parse_fields(type, value, order_is_big);
  ZARRFS_TRY(Bytes element, parse_raw(type, value));
  if (order_is_big) swap_elements(type, element);
  return element;
}

Json render_struct(const DataType& type, ByteView element, bool order_is_big) {
  if (type.legacy_struct) {
    Bytes packed(element.begin(), element.end());
    if (order_is_big) swap_elements(type, packed);
    return to_base64(packed);
  }
  Json fields = Json::object();
  std::size_t offset = 0;
  for (const Field& field : type.fields) {
    fields[field.name] =
        render_fill_value(field.type, element.subspan(offset, field.type.size), order_is_big);
    offset += field.type.size;
  }
  return fields;
}

}  // namespace

Result<Bytes> parse_fill_value(const DataType& type, const Json& fill_value, bool order_is_big) {
  switch (type.kind) {
    case TypeKind::kBool:
      if (fill_value.is_boolean())
        return Bytes{fill_value.get<bool>() ? std::uint8_t{1} : std::uint8_t{0}};
      if (fill_value.is_number()) return parse_integer(type, fill_value);
      return refuse(type, fill_value, "neither true nor false");
    case TypeKind::kInt:
    case TypeKind::kUint:
    case TypeKind::kSmallInt:
    case TypeKind::kSmallUint: return parse_integer(type, fill_value);
    case TypeKind::kFloat:
    case TypeKind::kSmallFloat: return parse_float(type, fill_value);
    case TypeKind::kComplex:
    case TypeKind::kSmallComplex: return parse_complex(type, fill_value);
    case TypeKind::kRaw: return parse_raw(type, fill_value);
    case TypeKind::kFixedBytes: return parse_fixed_bytes(type, fill_value);
    case TypeKind::kFixedUtf32: return parse_utf32(type, fill_value);
    case TypeKind::kDatetime:
    case TypeKind::kTimedelta: return parse_time(type, fill_value);
    case TypeKind::kStruct: return parse_struct(type, fill_value, order_is_big);
    case TypeKind::kString: return parse_string(type, fill_value);
    case TypeKind::kVariableBytes: return parse_variable_bytes(type, fill_value);
  }
  return refuse(type, fill_value, "unknown kind of type");
}

Json render_fill_value(const DataType& type, ByteView element, bool order_is_big) {
  if (element.size() < type.size) return nullptr;
  switch (type.kind) {
    case TypeKind::kBool: return element[0] != 0;
    case TypeKind::kInt:
    case TypeKind::kUint:
    case TypeKind::kSmallInt:
    case TypeKind::kSmallUint: return render_integer(type, element);
    case TypeKind::kFloat:
    case TypeKind::kSmallFloat: return render_float(type, element);
    case TypeKind::kComplex:
    case TypeKind::kSmallComplex: return render_complex(type, element);
    case TypeKind::kRaw:
      if (type.name == "raw_bytes") return to_base64(element);
      return Json(std::vector<std::uint8_t>(element.begin(), element.end()));
    case TypeKind::kFixedBytes:
    case TypeKind::kVariableBytes: return to_base64(element);
    case TypeKind::kFixedUtf32: return render_utf32(element);
    case TypeKind::kDatetime:
    case TypeKind::kTimedelta: return render_time(type, element);
    case TypeKind::kStruct: return render_struct(type, element, order_is_big);
    case TypeKind::kString: return std::string(element.begin(), element.end());
  }
  return nullptr;
}

}  // namespace zarrfs
