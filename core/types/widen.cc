// Types that numpy lacks, as the numpy types that hold all their values.
#include <cstring>

#include "core/base/json.h"
#include "core/types/data_type.h"
#include "core/types/small_float.h"

namespace zarrfs {
namespace {

constexpr std::string_view kComplexPrefix = "complex_";

const SmallFloat& format_of(const DataType& type) {
  std::string_view name = type.name;
  if (type.kind == TypeKind::kSmallComplex) name.remove_prefix(kComplexPrefix.size());
  const SmallFloat* format = find_small_float(name);
  return format != nullptr ? *format : half_format();
}

unsigned width_of(const DataType& type) {
  return type.name == "int2" || type.name == "uint2" ? 2 : 4;
}

std::uint8_t widen_integer(const DataType& type, std::uint8_t stored) {
  const unsigned bits = width_of(type);
  const unsigned value = stored & ((1U << bits) - 1U);
  const unsigned sign = 1U << (bits - 1U);
  if (type.kind == TypeKind::kSmallUint || (value & sign) == 0) {
    return static_cast<std::uint8_t>(value);
  }
  return static_cast<std::uint8_t>(value | ~(2 * sign - 1U));
}

void widen_floats(const SmallFloat& format, ByteView codes, Bytes& out) {
  const std::uint32_t size = format.size();
  for (std::size_t at = 0; at + size <= codes.size(); at += size) {
    const std::uint32_t code =
        size == 1 ? codes[at] : load_little<std::uint16_t>(codes.subspan(at));
    append_little(out, decode_small_float(format, code));
  }
}

Result<void> narrow_floats(const SmallFloat& format, ByteView values, Bytes& out) {
  for (std::size_t at = 0; at + sizeof(float) <= values.size(); at += sizeof(float)) {
    const auto value = load_little<float>(values.subspan(at));
    const auto code = narrow_to_small_float(format, value);
    if (!code) {
      return fail(Fault::kInvalid, std::to_string(value) + " has no " + std::string(format.name));
    }
    if (format.size() == 1) {
      out.push_back(static_cast<std::uint8_t>(*code));
    } else {
      append_little(out, static_cast<std::uint16_t>(*code));
    }
  }
  return {};
}

Result<void> narrow_integers(const DataType& type, ByteView values, Bytes& out) {
  for (const std::uint8_t value : values) {
    if (widen_integer(type, value) != value) {
      const int shown = type.kind == TypeKind::kSmallInt ? static_cast<std::int8_t>(value) : value;
      return fail(Fault::kInvalid, std::to_string(shown) + " does not fit " + type.name);
    }
    out.push_back(value);
  }
  return {};
}

void append(ByteView bytes, Bytes& out) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void widen_into(const DataType& type, ByteView elements, Bytes& out) {
  switch (type.kind) {
    case TypeKind::kSmallInt:
    case TypeKind::kSmallUint:
      for (const std::uint8_t stored : elements) out.push_back(widen_integer(type, stored));
      return;
    case TypeKind::kSmallFloat:
    case TypeKind::kSmallComplex: widen_floats(format_of(type), elements, out); return;
    case TypeKind::kStruct:
      for (std::size_t at = 0; at + type.size <= elements.size();) {
        for (const Field& field : type.fields) {
          widen_into(field.type, elements.subspan(at, field.type.size), out);
          at += field.type.size;
        }
      }
      return;
    default: append(elements, out);
  }
}

Result<void> narrow_into(const DataType& type, ByteView elements, Bytes& out) {
  switch (type.kind) {
    case TypeKind::kSmallInt:
    case TypeKind::kSmallUint: return narrow_integers(type, elements, out);
    case TypeKind::kSmallFloat:
    case TypeKind::kSmallComplex: return narrow_floats(format_of(type), elements, out);
    case TypeKind::kStruct: {
      const std::uint32_t size = widened(type).size;
      for (std::size_t at = 0; at + size <= elements.size();) {
        for (const Field& field : type.fields) {
          const std::uint32_t field_size = widened(field.type).size;
          ZARRFS_CHECK(narrow_into(field.type, elements.subspan(at, field_size), out));
          at += field_size;
        }
      }
      return {};
    }
    default: append(elements, out); return {};
  }
}

DataType named_type(TypeKind kind, const char* name, std::uint32_t size) {
  DataType type;
  type.kind = kind;
  type.name = name;
  type.size = size;
  type.spelled = Json(name);
  return type;
}

Json spell_struct(const DataType& type) {
  Json fields = Json::array();
  for (const Field& field : type.fields) {
    const Json& spelled = field.type.spelled;
    fields.push_back(type.legacy_struct ? Json::array({field.name, spelled})
                                        : Json{{"name", field.name}, {"data_type", spelled}});
  }
  return {{"name", type.legacy_struct ? "structured" : "struct"},
          {"configuration", {{"fields", std::move(fields)}}}};
}

}  // namespace

DataType widened(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kSmallInt: return named_type(TypeKind::kInt, "int8", 1);
    case TypeKind::kSmallUint: return named_type(TypeKind::kUint, "uint8", 1);
    case TypeKind::kSmallFloat: return named_type(TypeKind::kFloat, "float32", 4);
    case TypeKind::kSmallComplex: return named_type(TypeKind::kComplex, "complex64", 8);
    case TypeKind::kStruct: {
      DataType wide = type;
      wide.size = 0;
      for (Field& field : wide.fields) {
        field.type = widened(field.type);
        wide.size += field.type.size;
      }
      wide.spelled = spell_struct(wide);
      return wide;
    }
    default: return type;
  }
}

Bytes widen(const DataType& type, ByteView elements) {
  Bytes out;
  const std::size_t count = type.size == 0 ? 0 : elements.size() / type.size;
  out.reserve(type.size == 0 ? elements.size() : count * widened(type).size);
  widen_into(type, elements, out);
  return out;
}

Result<Bytes> narrow(const DataType& type, ByteView widened_elements) {
  Bytes out;
  out.reserve(widened_elements.size());
  ZARRFS_CHECK(narrow_into(type, widened_elements, out));
  return out;
}

}  // namespace zarrfs
