#include "core/types/data_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/types/small_float.h"

namespace zarrfs {
namespace {

/// The largest element that is understood; no allocation follows a larger one.
constexpr std::uint64_t kMaxElement = std::uint64_t{1} << 30U;
constexpr int kMaxDepth = 16;

struct NamedType {
  std::string_view name;
  TypeKind kind;
  std::uint32_t size;
};

constexpr std::array kNamedTypes = {
    NamedType{"bool", TypeKind::kBool, 1},
    NamedType{"int8", TypeKind::kInt, 1},
    NamedType{"int16", TypeKind::kInt, 2},
    NamedType{"int32", TypeKind::kInt, 4},
    NamedType{"int64", TypeKind::kInt, 8},
    NamedType{"uint8", TypeKind::kUint, 1},
    NamedType{"uint16", TypeKind::kUint, 2},
    NamedType{"uint32", TypeKind::kUint, 4},
    NamedType{"uint64", TypeKind::kUint, 8},
    NamedType{"float16", TypeKind::kFloat, 2},
    NamedType{"float32", TypeKind::kFloat, 4},
    NamedType{"float64", TypeKind::kFloat, 8},
    NamedType{"complex64", TypeKind::kComplex, 8},
    NamedType{"complex128", TypeKind::kComplex, 16},
    NamedType{"int2", TypeKind::kSmallInt, 1},
    NamedType{"int4", TypeKind::kSmallInt, 1},
    NamedType{"uint2", TypeKind::kSmallUint, 1},
    NamedType{"uint4", TypeKind::kSmallUint, 1},
    NamedType{"string", TypeKind::kString, 0},
    NamedType{"variable_length_bytes", TypeKind::kVariableBytes, 0},
};

struct TypeAlias {
  std::string_view name;
  std::string_view canonical;
};

constexpr std::array kTypeAliases = {
    TypeAlias{"complex_float32", "complex64"},
    TypeAlias{"complex_float64", "complex128"},
    TypeAlias{"bytes", "variable_length_bytes"},
    TypeAlias{"binary", "variable_length_bytes"},
};

constexpr std::array<std::string_view, 14> kTimeUnits = {
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"};

auto damaged_type(const std::string& name, const std::string& reason) {
  return fail(Fault::kDamaged, "data type " + printable(name) + ": " + reason);
}

/// A spelled type taken apart.
struct Spelling {
  std::string name;
  Json configuration = Json::object();
};

Result<Spelling> take_apart(const Json& spelled) {
  if (spelled.is_string()) return Spelling{spelled.get<std::string>()};
  if (!spelled.is_object() || !spelled.contains("name") || !spelled["name"].is_string()) {
    return fail(Fault::kDamaged, "data type " + printable(dump_json(spelled)) +
                                     " is neither a name nor an object with a name");
  }
  Spelling spelling{spelled["name"].get<std::string>()};
  if (!spelled.contains("configuration")) return spelling;
  spelling.configuration = spelled["configuration"];
  if (!spelling.configuration.is_object()) {
    return damaged_type(spelling.name, "its configuration is not an object");
  }
  return spelling;
}

/// An integer member of the configuration within [low, high].
Result<std::uint64_t> integer_member(const Spelling& spelling, const char* member,
                                     std::uint64_t low, std::uint64_t high) {
  const auto found = spelling.configuration.find(member);
  if (found == spelling.configuration.end()) {
    return damaged_type(spelling.name, std::string(member) + " is missing");
  }
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < low) {
    return damaged_type(spelling.name, std::string(member) + " " +
                                           printable(dump_json(*found), 40) +
                                           " is not an integer of at least " + std::to_string(low));
  }
  if (found->get<std::uint64_t>() > high) {
    return fail(Fault::kUnsupported, "data type " + spelling.name + ": " + member + " " +
                                         printable(dump_json(*found), 40) + " is more than " +
                                         std::to_string(high));
  }
  return found->get<std::uint64_t>();
}

std::optional<DataType> parse_named(std::string_view name) {
  for (const TypeAlias& alias : kTypeAliases) {
    if (alias.name == name) name = alias.canonical;
  }
  for (const NamedType& named : kNamedTypes) {
    if (named.name != name) continue;
    DataType type;
    type.kind = named.kind;
    type.name = named.name;
    type.size = named.size;
    return type;
  }
  return std::nullopt;
}

std::optional<DataType> parse_small_float(std::string_view name) {
  constexpr std::string_view kPrefix = "complex_";
  const bool pair = name.starts_with(kPrefix);
  const SmallFloat* format = find_small_float(pair ? name.substr(kPrefix.size()) : name);
  if (format == nullptr) return std::nullopt;
  DataType type;
  type.kind = pair ? TypeKind::kSmallComplex : TypeKind::kSmallFloat;
  type.name = name;
  type.size = format->size() * (pair ? 2 : 1);
  return type;
}

/// r8, r16, ...: the number of bits; nothing for other names.
std::optional<std::uint64_t> raw_bits(std::string_view name) {
  if (name.size() < 2 || name[0] != 'r') return std::nullopt;
  std::uint64_t bits = 0;
  const char* end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + 1, end, bits);
  if (last != end) return std::nullopt;
  return error == std::errc() ? bits : ~std::uint64_t{0};
}

Result<DataType> make_raw(const std::string& name, std::uint64_t bits) {
  if (bits == 0 || bits % 8 != 0) return damaged_type(name, "not a positive multiple of 8 bits");
  if (bits / 8 > kMaxElement) {
    return fail(Fault::kUnsupported, "data type " + printable(name) + ": elements of more than " +
                                         std::to_string(kMaxElement) + " bytes");
  }
  DataType type;
  type.kind = TypeKind::kRaw;
  type.name = name;
  type.size = static_cast<std::uint32_t>(bits / 8);
  return type;
}

Result<DataType> make_fixed_length(const Spelling& spelling, TypeKind kind) {
  ZARRFS_TRY(const std::uint64_t size, integer_member(spelling, "length_bytes", 1, kMaxElement));
  if (kind == TypeKind::kFixedUtf32 && size % 4 != 0) {
    return damaged_type(spelling.name,
                        "length_bytes " + std::to_string(size) + " is not a multiple of 4");
  }
  DataType type;
  type.kind = kind;
  type.name = spelling.name;
  type.size = static_cast<std::uint32_t>(size);
  return type;
}

Result<DataType> make_time(const Spelling& spelling, TypeKind kind) {
  const auto unit = spelling.configuration.find("unit");
  if (unit == spelling.configuration.end() || !unit->is_string()) {
    return damaged_type(spelling.name, "unit is missing or not a string");
  }
  DataType type;
  type.kind = kind;
  type.name = spelling.name;
  type.size = 8;
  type.unit = unit->get<std::string>();
  // The micro sign and the Greek letter.
  if (type.unit == "\xc2\xb5s" || type.unit == "\xce\xbcs") type.unit = "us";
  if (std::find(kTimeUnits.begin(), kTimeUnits.end(), type.unit) == kTimeUnits.end()) {
    return damaged_type(spelling.name,
                        "unit \"" + printable(type.unit) + "\" is not one of numpy's");
  }
  if (spelling.configuration.contains("scale_factor")) {
    ZARRFS_TRY(type.scale_factor, integer_member(spelling, "scale_factor", 1, INT32_MAX));
  }
  return type;
}

Result<DataType> parse_at_depth(const Json& spelled, int depth);

/// One field: {"name": n, "data_type": t} or [n, t].
Result<Field> parse_field(const std::string& type_name, const Json& spelled, int depth) {
  const Json* name = nullptr;
  const Json* type = nullptr;
  if (spelled.is_object() && spelled.contains("name") && spelled.contains("data_type")) {
    name = &spelled["name"];
    type = &spelled["data_type"];
  } else if (spelled.is_array() && spelled.size() == 2) {
    name = &spelled[0];
    type = &spelled[1];
  }
  if (name == nullptr || !name->is_string()) {
    return damaged_type(type_name,
                        "field " + printable(dump_json(spelled)) + " has no name and type");
  }
  ZARRFS_TRY(DataType parsed, parse_at_depth(*type, depth + 1));
  if (parsed.variable_length()) {
    return fail(Fault::kUnsupported, "data type " + type_name + ": field " +
                                         printable(name->get<std::string>()) +
                                         " is of variable length");
  }
  return Field{name->get<std::string>(), std::move(parsed)};
}

Result<DataType> make_struct(const Spelling& spelling, int depth) {
  if (depth >= kMaxDepth) {
    return fail(Fault::kUnsupported,
                "data type struct: nested deeper than " + std::to_string(kMaxDepth));
  }
  const auto fields = spelling.configuration.find("fields");
  if (fields == spelling.configuration.end() || !fields->is_array() || fields->empty()) {
    return damaged_type(spelling.name, "it has no fields");
  }
  DataType type;
  type.kind = TypeKind::kStruct;
  type.name = "struct";
  type.legacy_struct = spelling.name == "structured";
  std::set<std::string, std::less<>> names;
  std::uint64_t size = 0;
  for (const Json& one : *fields) {
    ZARRFS_TRY(Field field, parse_field(spelling.name, one, depth));
    if (!names.insert(field.name).second) {
      return damaged_type(spelling.name, "field " + printable(field.name) + " occurs twice");
    }
    size += field.type.size;
    if (size > kMaxElement) {
      return fail(Fault::kUnsupported, "data type struct: elements of more than " +
                                           std::to_string(kMaxElement) + " bytes");
    }
    type.fields.push_back(std::move(field));
  }
  type.size = static_cast<std::uint32_t>(size);
  return type;
}

Result<DataType> parse_configured(const Spelling& spelling, int depth) {
  const std::string& name = spelling.name;
  if (name == "raw_bytes") return make_fixed_length(spelling, TypeKind::kRaw);
  if (name == "null_terminated_bytes") return make_fixed_length(spelling, TypeKind::kFixedBytes);
  if (name == "fixed_length_utf32") return make_fixed_length(spelling, TypeKind::kFixedUtf32);
  if (name == "numpy.datetime64") return make_time(spelling, TypeKind::kDatetime);
  if (name == "numpy.timedelta64") return make_time(spelling, TypeKind::kTimedelta);
  if (name == "struct" || name == "structured") return make_struct(spelling, depth);
  return fail(Fault::kUnsupported, "data type " + printable(name) + " is not known");
}

Result<DataType> parse_at_depth(const Json& spelled, int depth) {
  ZARRFS_TRY(const Spelling spelling, take_apart(spelled));
  if (auto type = parse_named(spelling.name)) return *std::move(type);
  if (auto type = parse_small_float(spelling.name)) return *std::move(type);
  if (const auto bits = raw_bits(spelling.name)) return make_raw(spelling.name, *bits);
  return parse_configured(spelling, depth);
}

/// The spelling of core 3.0: a type without a configuration is its name.
Json plain_spelling(const Json& spelled) {
  if (!spelled.is_object()) return spelled;
  const auto configuration = spelled.find("configuration");
  if (configuration == spelled.end() || configuration->empty()) return spelled["name"];
  Json plain = spelled;
  plain.erase("must_understand");
  return plain;
}

}  // namespace

Result<DataType> parse_data_type(const Json& spelled) {
  ZARRFS_TRY(DataType type, parse_at_depth(spelled, 0));
  type.spelled = plain_spelling(spelled);
  return type;
}

std::uint32_t DataType::swap_unit() const {
  switch (kind) {
    case TypeKind::kInt:
    case TypeKind::kUint:
    case TypeKind::kFloat:
    case TypeKind::kSmallFloat: return size;
    case TypeKind::kComplex:
    case TypeKind::kSmallComplex: return size / 2;
    case TypeKind::kFixedUtf32: return 4;
    case TypeKind::kDatetime:
    case TypeKind::kTimedelta: return 8;
    case TypeKind::kStruct: {
      std::uint32_t largest = 1;
      for (const Field& field : fields) largest = std::max(largest, field.type.swap_unit());
      return largest;
    }
    default: return 1;
  }
}

void swap_elements(const DataType& type, MutableByteView elements) {
  if (type.swap_unit() < 2) return;
  if (type.kind != TypeKind::kStruct) {
    swap_items(elements, type.swap_unit());
    return;
  }
  for (std::size_t at = 0; at + type.size <= elements.size(); at += type.size) {
    std::size_t offset = at;
    for (const Field& field : type.fields) {
      swap_elements(field.type, elements.subspan(offset, field.type.size));
      offset += field.type.size;
    }
  }
}

}  // namespace zarrfs
