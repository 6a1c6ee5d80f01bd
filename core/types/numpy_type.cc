// Types as numpy spells them. Source: the array interface ("typestr") and numpy.datetime64's units.
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/types/data_type.h"

namespace zarrfs {
namespace {

char kind_letter(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBool: return 'b';
    case TypeKind::kInt:
    case TypeKind::kSmallInt: return 'i';
    case TypeKind::kUint:
    case TypeKind::kSmallUint: return 'u';
    case TypeKind::kFloat:
    case TypeKind::kSmallFloat: return 'f';
    case TypeKind::kComplex:
    case TypeKind::kSmallComplex: return 'c';
    case TypeKind::kFixedBytes: return 'S';
    case TypeKind::kFixedUtf32: return 'U';
    case TypeKind::kDatetime: return 'M';
    case TypeKind::kTimedelta: return 'm';
    case TypeKind::kString:
    case TypeKind::kVariableBytes: return 'O';
    case TypeKind::kRaw:
    case TypeKind::kStruct: break;
  }
  return 'V';
}

/// "[10us]", "[ns]"; nothing for the generic unit.
std::string time_suffix(const DataType& type) {
  if (type.unit == "generic") return "";
  const std::string scale = type.scale_factor == 1 ? "" : std::to_string(type.scale_factor);
  return "[" + scale + type.unit + "]";
}

struct BareName {
  std::string_view name;
  std::string_view typestr;
};

constexpr std::array kBareNames = {
    BareName{"bool", "b1"},        BareName{"?", "b1"},        BareName{"b", "i1"},
    BareName{"B", "u1"},           BareName{"int8", "i1"},     BareName{"int16", "i2"},
    BareName{"int32", "i4"},       BareName{"int64", "i8"},    BareName{"int", "i8"},
    BareName{"uint8", "u1"},       BareName{"uint16", "u2"},   BareName{"uint32", "u4"},
    BareName{"uint64", "u8"},      BareName{"float16", "f2"},  BareName{"float32", "f4"},
    BareName{"float64", "f8"},     BareName{"float", "f8"},    BareName{"complex64", "c8"},
    BareName{"complex128", "c16"}, BareName{"complex", "c16"},
};

/// The whole of `text` as a decimal number; nothing where it is something else.
std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || last != end || error != std::errc()) return std::nullopt;
  return number;
}

/// "8[10us]", "8" or "[ns]": what follows M or m.
Json time_spelling(const char* name, std::string_view rest) {
  if (rest.starts_with('8')) rest.remove_prefix(1);
  if (rest.empty()) return {{"name", name}, {"configuration", {{"unit", "generic"}}}};
  if (!rest.starts_with('[') || !rest.ends_with(']')) return nullptr;
  rest = rest.substr(1, rest.size() - 2);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::uint32_t scale = digits == 0 ? 1 : whole_number(rest.substr(0, digits)).value_or(0);
  Json configuration = {{"unit", rest.substr(digits)}, {"scale_factor", scale}};
  return {{"name", name}, {"configuration", std::move(configuration)}};
}

Json sized_spelling(const char* name, std::string_view rest, std::uint64_t factor) {
  const auto length = whole_number(rest);
  if (!length) return nullptr;
  return {{"name", name}, {"configuration", {{"length_bytes", *length * factor}}}};
}

/// The v3 spelling of a typestr without its byte order; null where there is none.
Json v3_spelling(std::string_view text) {
  const char letter = text.empty() ? '\0' : text.front();
  const std::string_view rest = text.substr(text.empty() ? 0 : 1);
  const auto bits = [&](const char* prefix, std::uint32_t low, std::uint32_t high) -> Json {
    const auto bytes = whole_number(rest);
    const bool power = bytes && *bytes != 0 && (*bytes & (*bytes - 1U)) == 0;
    if (!power || *bytes < low || *bytes > high) return nullptr;
    return prefix + std::to_string(*bytes * 8);
  };
  switch (letter) {
    case 'b': return rest == "1" ? Json("bool") : Json(nullptr);
    case 'i': return bits("int", 1, 8);
    case 'u': return bits("uint", 1, 8);
    case 'f': return bits("float", 2, 8);
    case 'c': return bits("complex", 8, 16);
    case 'S': return sized_spelling("null_terminated_bytes", rest, 1);
    case 'U': return sized_spelling("fixed_length_utf32", rest, 4);
    case 'V': return sized_spelling("raw_bytes", rest, 1);
    case 'M': return time_spelling("numpy.datetime64", rest);
    case 'm': return time_spelling("numpy.timedelta64", rest);
    default: return nullptr;
  }
}

}  // namespace

std::string numpy_typestr(const DataType& type, bool big_endian) {
  const char letter = kind_letter(type.kind);
  if (type.variable_length()) return "|O";
  const char order = type.kind == TypeKind::kStruct || type.swap_unit() < 2 ? '|'
                     : big_endian                                           ? '>'
                                                                            : '<';
  const std::uint32_t size = type.kind == TypeKind::kFixedUtf32 ? type.size / 4 : type.size;
  std::string text = std::string{order, letter} + std::to_string(size);
  if (letter == 'M' || letter == 'm') text += time_suffix(type);
  return text;
}

Result<NumpyType> parse_numpy_type(std::string_view text) {
  const std::string shown = "numpy type \"" + printable(text, 60) + "\"";
  std::string_view rest = text;
  NumpyType numpy;
  if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) {
    numpy.big_endian = rest.front() == '>';
    rest.remove_prefix(1);
  }
  for (const BareName& bare : kBareNames) {
    if (bare.name == rest) rest = bare.typestr;
  }
  std::string times;
  if (rest.starts_with("datetime64")) times = "M8" + std::string(rest.substr(10));
  if (rest.starts_with("timedelta64")) times = "m8" + std::string(rest.substr(11));
  const Json spelled = v3_spelling(times.empty() ? rest : std::string_view(times));
  if (spelled.is_null()) return fail(Fault::kUnsupported, shown + " is not known");
  auto type = parse_data_type(spelled);
  if (!type) return fail(Fault::kUnsupported, shown + ": " + type.error().message);
  numpy.type = std::move(*type);
  numpy.big_endian = numpy.big_endian && numpy.type.swap_unit() > 1;
  return numpy;
}

}  // namespace zarrfs
