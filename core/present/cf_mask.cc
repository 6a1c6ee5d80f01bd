#include "core/present/cf_mask.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_note.h"
#include "core/present/v2_types.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr const char* kNames = "dimension_names";

/// A float of any size as a double; nothing where that is not a number of JSON or one of the names.
std::optional<double> as_double(const DataType& type, ByteView element) {
  const Json value = plain_v2_fill(type, element, false);
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::nan("");
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}

std::string base64_of_double(double value) {
  std::uint64_t bits = 0;
  static_assert(sizeof(bits) == sizeof(value));
  std::memcpy(&bits, &value, sizeof(bits));
  Bytes bytes;
  for (std::size_t i = 0; i < sizeof(bits); ++i) {
    constexpr unsigned kByte = 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> (kByte * i)));
  }
  return to_base64(bytes);
}

struct TypedFill {
  DataType type;
  Bytes element;
};

std::optional<TypedFill> fill_of(const Json& document) {
  auto type = parse_data_type(document.value("data_type", Json()));
  if (!type) return std::nullopt;
  auto element = parse_fill_value(*type, document.value("fill_value", Json()), false);
  if (!element) return std::nullopt;
  return TypedFill{std::move(*type), std::move(*element)};
}

Json attributes_of(const Json& document) {
  Json attributes = document.value("attributes", Json());
  return attributes.is_object() ? attributes : Json::object();
}

bool repeats(const DataType& type, ByteView fill, const Json& attributes) {
  const auto mark = fill_attribute(type, attributes);
  return mark && same_mark(type, *mark, fill);
}

/// Adds the levels that the member `multiscales` of `holder` lists.
void list_levels(const Json& holder, std::vector<std::string>& levels) {
  const auto multiscales = holder.find("multiscales");
  if (multiscales == holder.end() || !multiscales->is_array()) return;
  for (const Json& multiscale : *multiscales) {
    if (!multiscale.is_object() || !multiscale.contains("datasets")) continue;
    for (const Json& dataset : multiscale["datasets"]) {
      if (!dataset.is_object()) continue;
      const auto path = dataset.find("path");
      if (path != dataset.end() && path->is_string()) levels.push_back(path->get<std::string>());
    }
  }
}

/// Whether the member `multiscales` of `holder` tells what the axes of a pyramid are.
bool has_axes(const Json& holder) {
  const auto multiscales = holder.find("multiscales");
  return multiscales != holder.end() && multiscales->is_array() &&
         std::any_of(multiscales->begin(), multiscales->end(), [](const Json& multiscale) {
           return multiscale.is_object() && multiscale.contains("axes") &&
                  multiscale.contains("datasets");
         });
}

}  // namespace

bool has_dimension_names(const ArrayMetadata& array) { return has_dimension_names(array.document); }

bool has_dimension_names(const Json& document) {
  const auto names = document.find(kNames);
  const auto shape = document.find("shape");
  return names != document.end() && shape != document.end() && names->is_array() &&
         shape->is_array() && names->size() == shape->size() &&
         std::all_of(names->begin(), names->end(),
                     [](const Json& name) { return name.is_string(); });
}

std::optional<Json> spell_mark(const DataType& type, ByteView element) {
  switch (type.kind) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kUint: return plain_v2_fill(type, element, false);
    case TypeKind::kFloat: {
      const auto value = as_double(type, element);
      if (!value) return std::nullopt;
      return Json(base64_of_double(*value));
    }
    default: return std::nullopt;
  }
}

bool has_no_mark_in_v3(const DataType& type) {
  return type.kind == TypeKind::kFixedBytes || type.kind == TypeKind::kFixedUtf32 ||
         type.kind == TypeKind::kString || type.kind == TypeKind::kComplex;
}

bool marks_by_itself(const ArrayMetadata& array) {
  return is_noted_fill(array.attributes) || !is_zero(array.fill);
}

bool same_mark(const DataType& type, ByteView a, ByteView b) {
  const auto spelled = spell_mark(type, a);
  return spelled && spelled == spell_mark(type, b);
}

bool mark_repeats_fill(const ArrayMetadata& array) {
  return repeats(array.type, array.fill, array.attributes);
}

bool is_written_mark(const Json& attributes) {
  if (!attributes.is_object()) return false;
  if (noted(attributes, kNotedMark)) return true;
  return std::any_of(attributes.items().begin(), attributes.items().end(),
                     [](const auto& attribute) {
                       const std::string& name = attribute.key();
                       if (name != kNczarrAttribute && !name.starts_with("_nczarr_attr"))
                         return false;
                       if (!attribute.value().is_object()) return false;
                       const Json types = attribute.value().value("types", Json());
                       return types.is_object() && types.contains(kFillAttribute);
                     });
}

void spell_mark_as_shown(const DataType& type, const Json& shown, Json& written) {
  const auto before = fill_attribute(type, shown);
  const auto after = fill_attribute(type, written);
  if (!before || !after) return;
  const bool printed = is_netcdf_print(written[kFillAttribute], shown[kFillAttribute]);
  if (!printed && !same_mark(type, *before, *after)) return;
  written[kFillAttribute] = shown[kFillAttribute];
  if (noted(written, kNotedMark)) note(kNotedMark, shown[kFillAttribute], written);
}

bool add_mark(Json& document) {
  Json attributes = attributes_of(document);
  if (attributes.contains(kFillAttribute)) return false;
  const auto fill = fill_of(document);
  const auto mark = fill ? spell_mark(fill->type, fill->element) : std::nullopt;
  if (!mark) return false;
  attributes[kFillAttribute] = *mark;
  document["attributes"] = std::move(attributes);
  return true;
}

bool remove_mark(Json& document) {
  Json attributes = attributes_of(document);
  const auto fill = fill_of(document);
  if (!fill || !repeats(fill->type, fill->element, attributes)) return false;
  attributes.erase(kFillAttribute);
  document["attributes"] = std::move(attributes);
  return true;
}

void respell_mark(Json& document) {
  if (!has_dimension_names(document)) return;
  Json attributes = attributes_of(document);
  const auto type = parse_data_type(document.value("data_type", Json()));
  const auto element = type ? fill_attribute(*type, attributes) : std::nullopt;
  const auto mark = element ? spell_mark(*type, *element) : std::nullopt;
  if (!mark || same_json(attributes[kFillAttribute], *mark)) return;
  attributes[kFillAttribute] = *mark;
  document["attributes"] = std::move(attributes);
}

std::vector<std::string> image_levels(const Json& attributes) {
  std::vector<std::string> levels;
  if (!attributes.is_object()) return levels;
  list_levels(attributes, levels);
  const auto ome = attributes.find("ome");
  if (ome != attributes.end() && ome->is_object()) list_levels(*ome, levels);
  return levels;
}

bool is_ome04(const Json& attributes) {
  if (!attributes.is_object()) return false;
  const auto holds = [&](const char* name, const char* member) {
    const auto found = attributes.find(name);
    return found != attributes.end() && found->is_object() && found->contains(member);
  };
  return has_axes(attributes) || holds("plate", "wells") || holds("well", "images") ||
         attributes.contains("bioformats2raw.layout");
}

}  // namespace zarrfs
