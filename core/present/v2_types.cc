#include "core/present/v2_types.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/metadata/nczarr.h"
#include "core/present/cf_mask.h"

namespace zarrfs {
namespace {

DataType int64_type() {
  DataType type;
  type.kind = TypeKind::kInt;
  type.name = "int64";
  type.size = 8;
  type.spelled = Json("int64");
  return type;
}

bool numpy_has(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kSmallInt:
    case TypeKind::kSmallUint:
    case TypeKind::kSmallFloat:
    case TypeKind::kSmallComplex: return false;
    case TypeKind::kStruct:
      return std::all_of(type.fields.begin(), type.fields.end(), [](const Field& field) {
        return !field.type.variable_length() && numpy_has(field.type);
      });
    default: return true;
  }
}

/// Datetimes of unit "generic" are refused by zarr-python 2; the integers in them are not.
void name_unitless_integers(DataType& type) {
  const bool time = type.kind == TypeKind::kDatetime || type.kind == TypeKind::kTimedelta;
  if (time && (type.unit.empty() || type.unit == "generic")) type = int64_type();
  for (Field& field : type.fields) name_unitless_integers(field.type);
}

std::string sized_token(char kind, const DataType& type) {
  std::string token(1, kind);
  token += std::to_string(type.size);
  return token;
}

Json base64_of(const DataType& type, ByteView element, bool big_endian) {
  Bytes bytes(element.begin(), element.end());
  if (big_endian) swap_elements(type, bytes);
  return to_base64(bytes);
}

/// Hexadecimal, which tells a NaN by its payload, is known to no reader of Zarr v2.
Json float_name(Json rendered) {
  const bool text = rendered.is_string();
  if (text && rendered.get_ref<const std::string&>().starts_with("0x")) return "NaN";
  return rendered;
}

Json float_fill(const DataType& type, ByteView element) {
  Json rendered = render_fill_value(type, element, false);
  if (!rendered.is_array()) return float_name(std::move(rendered));
  for (Json& part : rendered) part = float_name(std::move(part));
  return rendered;
}

bool is_float(const DataType& type) {
  return type.kind == TypeKind::kFloat || type.kind == TypeKind::kComplex;
}

bool is_nan(const Json& value) { return value.is_string() && value == "NaN"; }

/// Whether the reader, given `value`, makes the very bits of `element` of it.
bool says_exactly(const DataType& type, ByteView element, const Json& value) {
  if (!is_float(type)) return true;
  const auto parsed = parse_fill_value(type, value, false);
  return parsed && std::equal(parsed->begin(), parsed->end(), element.begin(), element.end());
}

bool beyond_int64(const DataType& type, ByteView element) {
  return type.kind == TypeKind::kUint && type.size == 8 && element.size() == 8 &&
         load_little<std::uint64_t>(element) >
             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

V2Fill verbatim_fill(const DataType& type, ByteView element, bool big_endian) {
  V2Fill fill{plain_v2_fill(type, element, big_endian), {}};
  if (type.kind == TypeKind::kVariableBytes) {
    fill.materialise_because = "fill values of variable-length bytes cannot be said in Zarr v2";
  } else if (!says_exactly(type, element, fill.value)) {
    fill.materialise_because = "the fill value is a NaN with a payload";
  } else if (type.kind == TypeKind::kComplex &&
             (fill.value[0].is_string() || fill.value[1].is_string())) {
    fill.materialise_because =
        "zarr-python 2 turns a complex fill value that is not finite into another one";
  }
  return fill;
}

/// Types whose fill values GDAL 3.6 takes for other text, or none.
bool is_bytes(const DataType& type) {
  return type.kind == TypeKind::kFixedBytes || type.kind == TypeKind::kFixedUtf32 ||
         type.kind == TypeKind::kRaw || type.kind == TypeKind::kStruct;
}

bool same_bytes(ByteView a, ByteView b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

constexpr const char* kTakenForMissing = "the reader would take the fill value for missing data";

/// The fill value that `marker`, an element that stands for missing data, is shown as.
V2Fill marked_fill(const DataType& type, ByteView marker, ByteView element, bool big_endian) {
  V2Fill fill{plain_v2_fill(type, marker, big_endian), {}};
  if (!same_bytes(marker, element)) fill.materialise_because = "_FillValue is not the fill value";
  return fill;
}

/// The element that stands for missing data: that of `_FillValue`, or else of `missing_value`.
std::optional<Bytes> missing_marker(const DataType& type, const Json& attributes,
                                    MissingValue missing_value) {
  auto marker = fill_attribute(type, attributes);
  if (missing_value == MissingValue::kMarksNothing) return marker;
  if (marker || !attributes.is_object() || attributes.contains(kFillAttribute)) return marker;
  if (!attributes.contains(kMissingAttribute)) return std::nullopt;
  return fill_attribute(type, Json{{kFillAttribute, attributes[kMissingAttribute]}});
}

/// Why the reader takes no fill value of this kind; empty where it does.
std::string why_no_scalar(const DataType& type, ByteView value) {
  if (type.kind == TypeKind::kComplex) return "the reader refuses complex fill values";
  if (beyond_int64(type, value)) return "the reader knows no fill value beyond int64";
  if (is_bytes(type)) return "the reader misreads fill values of text, bytes and structs";
  return {};
}

V2Fill scalar_fill(const DataType& type, ByteView element, bool big_endian, const Json& attributes,
                   MissingValue missing_value) {
  const auto marker = missing_marker(type, attributes, missing_value);
  const std::string why = why_no_scalar(type, marker ? ByteView(*marker) : element);
  if (why.empty() && marker) return marked_fill(type, *marker, element, big_endian);
  V2Fill plain = verbatim_fill(type, element, big_endian);
  if (type.kind == TypeKind::kFloat && is_nan(plain.value)) return plain;
  if (is_zero(element)) return {nullptr, {}};  // for which the reader takes null
  return {nullptr, why.empty() ? kTakenForMissing : why};
}

/// For readers to whom a missing chunk is one of zeros, or none at all.
V2Fill numeric_fill(const DataType& type, ByteView element, bool big_endian) {
  if (type.kind == TypeKind::kComplex) return {0, "the reader refuses complex fill values"};
  V2Fill fill = type.kind == TypeKind::kBool ? V2Fill{is_zero(element) ? 0 : 1, {}}
                                             : verbatim_fill(type, element, big_endian);
  if (beyond_int64(type, element)) {
    fill.materialise_because = "the reader knows no fill value beyond int64";
  } else if (fill.materialise_because.empty() && !is_zero(element)) {
    fill.materialise_because = "the reader takes missing chunks for zeros";
  }
  return fill;
}

V2Fill mask_fill(const DataType& type, ByteView element, bool big_endian, const Json& attributes) {
  if (const auto marker = fill_attribute(type, attributes)) {
    return marked_fill(type, *marker, element, big_endian);
  }
  if (type.kind != TypeKind::kFloat) return {nullptr, kTakenForMissing};
  V2Fill fill = verbatim_fill(type, element, big_endian);
  if (is_nan(fill.value)) return fill;
  return {"NaN", kTakenForMissing};
}

/// xarray writes floats as base64 of a little-endian float64; the number itself, or its name, is
/// taken as well.
std::optional<Json> float_of_attribute(const Json& value) {
  if (value.is_number()) return value;
  if (!value.is_string()) return std::nullopt;
  if (value == "NaN" || value == "Infinity" || value == "-Infinity") return value;
  const auto bytes = from_base64(value.get_ref<const std::string&>());
  if (!bytes || bytes->size() != sizeof(double)) return std::nullopt;
  DataType float64;
  float64.kind = TypeKind::kFloat;
  float64.name = "float64";
  float64.size = sizeof(double);
  return float_name(render_fill_value(float64, *bytes, false));
}

std::optional<Json> complex_of_attribute(const Json& value) {
  if (!value.is_array() || value.size() != 2) return std::nullopt;
  const auto real = float_of_attribute(value[0]);
  const auto imaginary = float_of_attribute(value[1]);
  if (!real || !imaginary) return std::nullopt;
  Json parts = Json::array();
  parts.push_back(*real);
  parts.push_back(*imaginary);
  return parts;
}

std::optional<Json> value_of_attribute(const DataType& type, const Json& value) {
  if (type.kind == TypeKind::kFloat) return float_of_attribute(value);
  if (type.kind == TypeKind::kComplex) return complex_of_attribute(value);
  const bool integer = type.kind == TypeKind::kInt || type.kind == TypeKind::kUint;
  if (integer && value.is_number_float()) {
    const double number = value.get<double>();
    constexpr double kExact = 9007199254740992.0;  // 2^53: integers below are exact
    if (!(number >= -kExact && number <= kExact)) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(number);
    if (static_cast<double>(whole) != number) return std::nullopt;
    return Json(whole);
  }
  return value;
}

}  // namespace

bool is_zero(ByteView element) {
  return std::all_of(element.begin(), element.end(), [](std::uint8_t one) { return one == 0; });
}

std::optional<ShownType> shown_type(const DataType& type, const Profile& profile) {
  ShownType shown{type, false, type};
  const bool half = type.kind == TypeKind::kFloat && type_token(type) == "f2";
  if (half && !profile.reads_type("f2") && profile.reads_type("f4")) {
    shown.stored.kind = TypeKind::kSmallFloat;
  }
  if (!numpy_has(shown.stored)) {
    shown.type = widened(shown.stored);
    shown.widened = true;
    if (!numpy_has(shown.type)) return std::nullopt;
  }
  name_unitless_integers(shown.type);
  return shown;
}

std::string type_token(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kBool: return "b1";
    case TypeKind::kInt: return sized_token('i', type);
    case TypeKind::kUint: return sized_token('u', type);
    case TypeKind::kFloat: return sized_token('f', type);
    case TypeKind::kComplex: return sized_token('c', type);
    case TypeKind::kRaw: return "V";
    case TypeKind::kFixedBytes: return "S";
    case TypeKind::kFixedUtf32: return "U";
    case TypeKind::kDatetime: return "M8";
    case TypeKind::kTimedelta: return "m8";
    case TypeKind::kStruct: return "struct";
    case TypeKind::kString:
    case TypeKind::kVariableBytes: return "O";
    default: return type.name;
  }
}

Json v2_dtype(const DataType& type, bool big_endian) {
  if (type.kind != TypeKind::kStruct) return numpy_typestr(type, big_endian);
  Json fields = Json::array();
  for (const Field& field : type.fields) {
    Json pair = Json::array();
    pair.push_back(field.name);
    pair.push_back(v2_dtype(field.type, big_endian));
    fields.push_back(std::move(pair));
  }
  return fields;
}

Json plain_v2_fill(const DataType& type, ByteView element, bool big_endian) {
  switch (type.kind) {
    case TypeKind::kFloat:
    case TypeKind::kComplex: return float_fill(type, element);
    case TypeKind::kDatetime:
    case TypeKind::kTimedelta:
      return element.size() == 8 ? Json(load_little<std::int64_t>(element)) : Json(nullptr);
    case TypeKind::kRaw:
    case TypeKind::kFixedBytes:
    case TypeKind::kStruct: return base64_of(type, element, big_endian);
    case TypeKind::kVariableBytes: return "";
    default: return render_fill_value(type, element, false);
  }
}

V2Fill v2_fill(const DataType& type, ByteView element, bool big_endian, FillStyle style,
               const Json& attributes, MissingValue missing_value) {
  switch (style) {
    case FillStyle::kMask: return mask_fill(type, element, big_endian, attributes);
    case FillStyle::kDeclared: {
      const auto marker = missing_marker(type, attributes, missing_value);
      return marker ? marked_fill(type, *marker, element, big_endian)
                    : mask_fill(type, element, big_endian, attributes);
    }
    case FillStyle::kNumeric: return numeric_fill(type, element, big_endian);
    case FillStyle::kScalar:
      return scalar_fill(type, element, big_endian, attributes, missing_value);
    case FillStyle::kVerbatim:
    case FillStyle::kAsWritten: break;
  }
  return verbatim_fill(type, element, big_endian);
}

std::optional<Bytes> fill_attribute(const DataType& type, const Json& attributes) {
  if (!attributes.is_object()) return std::nullopt;
  const auto found = attributes.find(kFillAttribute);
  if (found == attributes.end()) return std::nullopt;
  const bool listed = found->is_array() && found->size() == 1 && type.kind != TypeKind::kComplex;
  const auto value = value_of_attribute(type, listed ? found->front() : *found);
  if (!value) return std::nullopt;
  auto element = parse_fill_value(type, *value, false);
  if (!element) return std::nullopt;
  return std::move(*element);
}

namespace {

/// `_FillValue` and `missing_value` as numbers of the array's type, and the types by which netCDF-C
/// knows that. ncdump and nco look for the former alone.
Json declared_attributes(Json attributes, const DataType& type, MissingValue missing_value) {
  Json types = Json::object();
  if (!attributes.contains(kFillAttribute) && missing_marker(type, attributes, missing_value)) {
    attributes[kFillAttribute] = attributes[kMissingAttribute];
  }
  for (const char* name : {kFillAttribute, kMissingAttribute}) {
    if (!attributes.contains(name)) continue;
    const auto marker = fill_attribute(type, Json{{kFillAttribute, attributes[name]}});
    if (!marker) continue;
    attributes[name] = plain_v2_fill(type, *marker, false);
    types[name] = numpy_typestr(type, false);
  }
  if (!types.empty() && !attributes.contains(kNczarrAttribute)) {
    attributes[kNczarrAttribute] = Json::object({{"types", std::move(types)}});
  }
  return attributes;
}

}  // namespace

Json fill_attributes(Json attributes, const DataType& type, ByteView fill, FillStyle style,
                     MissingValue missing_value) {
  if (!attributes.is_object()) return attributes;
  if (style == FillStyle::kDeclared)
    return declared_attributes(std::move(attributes), type, missing_value);
  const auto mark = fill_attribute(type, attributes);
  if (!mark) return attributes;
  // netCDF-C declares nothing where it fills an array with the value that it has for that.
  const bool undeclared = same_mark(type, *mark, fill) && is_netcdf_default_fill(type, *mark);
  const bool declared = style == FillStyle::kAsWritten && !undeclared;
  if (declared || is_written_mark(attributes)) {
    attributes[kFillAttribute] = plain_v2_fill(type, *mark, false);
    return attributes;
  }
  const bool shown_as_fill = style == FillStyle::kMask || (style == FillStyle::kScalar &&
                                                           why_no_scalar(type, ByteView()).empty());
  if (shown_as_fill || same_mark(type, *mark, fill)) {
    attributes.erase(kFillAttribute);
  } else if (type.kind == TypeKind::kFloat && attributes[kFillAttribute].is_string()) {
    attributes[kFillAttribute] = plain_v2_fill(type, *mark, false);
  }
  return attributes;
}

}  // namespace zarrfs
