#include "core/present/attributes.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/json.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_note.h"
#include "core/present/ome.h"

namespace zarrfs {
namespace {

bool all_are(Json::value_t type, const Json& a, const Json& b, const Json& c) {
  return a.type() == type && b.type() == type && c.type() == type;
}

/// See restored(): of three objects.
Json restored_members(const Json& stored, const Json& shown, const Json& written) {
  Json result = Json::object();
  for (const auto& [name, value] : stored.items()) {
    const bool was_shown = shown.contains(name);
    if (written.contains(name)) {
      result[name] = was_shown ? restored(value, shown[name], written[name]) : written[name];
    } else if (!was_shown) {
      result[name] = value;
    }
  }
  for (const auto& [name, value] : written.items()) {
    const bool made_up = shown.contains(name) && same_json(shown[name], value);
    if (!stored.contains(name) && !made_up) result[name] = value;
  }
  return result;
}

void set_attributes(Json& document, Json attributes) {
  if (attributes.empty() && !document.contains("attributes")) return;
  document["attributes"] = std::move(attributes);
}

/// Whether `written` is the name of the axis that is stored, or one that the profile makes of it
/// (dimension_name, unique_name).
bool stands_for(const std::string& written, const Json& stored, std::size_t axis,
                const Profile& profile) {
  if (stored.is_string() && stored == written) return true;
  if (!profile.always_dimension_names) return false;
  std::string_view rest = written;
  const std::string base =
      (stored.is_string() ? stored.get<std::string>() : "dim_" + std::to_string(axis)) + "_";
  if (!rest.starts_with(base)) return false;
  rest.remove_prefix(base.size());
  while (rest.ends_with('_')) rest.remove_suffix(1);
  return !rest.empty() && std::all_of(rest.begin(), rest.end(),
                                      [](unsigned char digit) { return std::isdigit(digit) != 0; });
}

bool is_list_of_names(const Json& value, std::size_t rank) {
  return value.is_array() && value.size() == rank &&
         std::all_of(value.begin(), value.end(), [](const Json& name) { return name.is_string(); });
}

/// Moves `_ARRAY_DIMENSIONS` of what was written to the document's dimension names.
void take_dimension_names(const Json& shown, Json& written, const Profile& profile,
                          Json& document) {
  constexpr const char* kNames = "dimension_names";
  const auto found = written.find(kDimensionsAttribute);
  const std::size_t rank = document.value("shape", Json::array()).size();
  if (found == written.end() || !is_list_of_names(*found, rank)) return;
  const Json stored = document.value(kNames, Json());
  const bool named = stored.is_array() && stored.size() == rank;
  Json names = Json::array();
  bool changed = !named && rank == 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Json before = named ? stored[axis] : Json();
    const bool unchanged = shown.is_array() && axis < shown.size() && shown[axis] == (*found)[axis];
    const bool same =
        unchanged || stands_for((*found)[axis].get<std::string>(), before, axis, profile);
    names.push_back(same ? before : (*found)[axis]);
    changed = changed || !same;
  }
  if (changed) document[kNames] = std::move(names);
  written.erase(kDimensionsAttribute);
}

/// An integer of JSON; nothing for other numbers and those beyond int64.
std::optional<std::int64_t> integer(const Json& number) {
  if (number.is_number_unsigned()) {
    const auto value = number.get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
    return static_cast<std::int64_t>(value);
  }
  return number.is_number_integer() ? std::optional(number.get<std::int64_t>()) : std::nullopt;
}

/// Whether the type of the first number, which netCDF-C takes for a whole list, has room for all.
bool fits_first(const Json& numbers) {
  constexpr std::int64_t kLeast = -128;  // of a byte
  constexpr std::int64_t kMost = 127;
  const auto is_byte = [](const Json& one) {
    const auto value = integer(one);
    return value && *value >= kLeast && *value <= kMost;
  };
  const auto is_first = [&](const Json& one) { return one == numbers.front(); };
  return std::all_of(numbers.begin(), numbers.end(), is_byte) ||
         std::all_of(numbers.begin(), numbers.end(), is_first);
}

/// A list of numbers as one of float64, where that changes none.
std::optional<Json> as_doubles(const Json& numbers) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53U;  // integers up to here are exact
  Json doubles = Json::array();
  for (const Json& one : numbers) {
    const auto value = integer(one);
    const bool exact = value ? *value <= kExact && *value >= -kExact : one.is_number_float();
    if (!exact) return std::nullopt;
    doubles.push_back(one.get<double>());
  }
  return doubles;
}

bool is_list_of_numbers(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_number(); });
}

/// A list of numbers of which netCDF-C reads each.
Json readable_numbers(const Json& numbers) {
  if (fits_first(numbers)) return numbers;
  auto doubles = as_doubles(numbers);
  return doubles ? std::move(*doubles) : Json(dump_ascii(numbers));
}

/// What a reader without nested attributes reads: text, a number, or a list of numbers of one type;
/// anything else as JSON text.
Json plain_value(const Json& value, bool ascii) {
  if (value.is_string() || value.is_number() || value.is_boolean()) return value;
  if (is_list_of_numbers(value)) return readable_numbers(value);
  return ascii ? dump_ascii(value) : dump_json(value);
}

std::string dimension_name(const ArrayMetadata& array, std::size_t axis, bool with_length) {
  const bool named = axis < array.dimension_names.size() && array.dimension_names[axis];
  std::string name = named ? *array.dimension_names[axis] : "dim_";
  if (!named) name += std::to_string(axis);
  if (with_length || !named) name.append("_").append(std::to_string(array.shape[axis]));
  return name;
}

/// A made-up name may be one that another axis was given.
std::string unique_name(std::string name, const Json& taken) {
  while (std::find(taken.begin(), taken.end(), Json(name)) != taken.end()) name += "_";
  return name;
}

bool all_named(const ArrayMetadata& array) {
  return array.dimension_names.size() == array.shape.size() &&
         std::all_of(array.dimension_names.begin(), array.dimension_names.end(),
                     [](const auto& name) { return name.has_value(); });
}

Json names_in_store(const ArrayMetadata& array, const DimensionNames& dimensions) {
  const std::vector<std::string> own = names_of_dimensions(array);
  Json names = Json::array();
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    names.push_back(dimensions.shown(own[axis], array.shape[axis]));
  }
  return names;
}

Json shown_attributes(Json attributes, const Profile& profile) {
  attributes = without_note(without_nczarr_members(std::move(attributes)));
  return profile.nested_attributes ? attributes : plain_attributes(std::move(attributes), profile);
}

}  // namespace

Json plain_attributes(Json attributes, const Profile& profile) {
  for (auto& [name, value] : attributes.items()) {
    if (name == kDimensionsAttribute || is_nczarr_name(name)) continue;
    if (!profile.as_noted) {
      value = plain_value(value, profile.ascii);
    } else if (is_list_of_numbers(value)) {
      value = readable_numbers(value);
    }
  }
  return attributes;
}

bool needs_text_for_netcdf(const Json& attributes) {
  TextStyle style;
  add_bare(attributes, "", style);
  const auto is_bare = [&](const std::string& name, std::size_t i) {
    const std::string place = (Json::json_pointer() / name / i).to_string();
    return std::find(style.bare.begin(), style.bare.end(), place) != style.bare.end();
  };
  const auto has_numbers = [&](const std::string& name, const Json& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_number() && !(list[i].is_string() && is_bare(name, i))) return false;
    }
    return !list.empty();
  };
  return std::any_of(attributes.items().begin(), attributes.items().end(), [&](const auto& one) {
    const bool own = one.key() == kDimensionsAttribute || is_nczarr_name(one.key());
    return !own && one.key() != kNoteAttribute &&
           (one.value().is_null() ||
            (one.value().is_array() && !has_numbers(one.key(), one.value())));
  });
}

Json restored(const Json& stored, const Json& shown, const Json& written) {
  if (same_json(written, shown) || is_netcdf_print(written, shown)) return stored;
  if (all_are(Json::value_t::object, stored, shown, written)) {
    return restored_members(stored, shown, written);
  }
  const bool lists = all_are(Json::value_t::array, stored, shown, written) &&
                     stored.size() == shown.size() && shown.size() == written.size();
  if (!lists) return written;
  Json result = Json::array();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    result.push_back(restored(stored[i], shown[i], written[i]));
  }
  return result;
}

void take_array_attributes(const Json& shown, Json written, const Profile& profile,
                           Json& document) {
  const Json stored = document.value("attributes", Json::object());
  if (stored.contains(kDimensionsAttribute)) {
    set_attributes(document, restored(stored, shown, written));
    return;
  }
  take_dimension_names(shown.value(kDimensionsAttribute, Json()), written, profile, document);
  Json shown_of_stored = shown;
  shown_of_stored.erase(kDimensionsAttribute);
  set_attributes(document, restored(stored, shown_of_stored, written));
}

Json array_attributes(const ArrayMetadata& array, const Profile& profile,
                      const ArrayCircumstances& circumstances) {
  Json attributes =
      shown_attributes(array.attributes->is_object() ? *array.attributes : Json::object(), profile);
  if (circumstances.names_dropped) return attributes;
  if (circumstances.dimensions != nullptr) {
    attributes[kDimensionsAttribute] = names_in_store(array, *circumstances.dimensions);
    return attributes;
  }
  if (attributes.contains(kDimensionsAttribute)) return attributes;
  const Json noted_names = noted(array.attributes, kNotedDimensions).value_or(Json());
  if (noted_names == kDimensionsOfNetcdf && profile.as_noted) return attributes;
  const bool conflict = circumstances.omit_dimension_names && noted_names != true;
  const bool scalar = array.shape.empty() && array.document->contains("dimension_names");
  const bool named = scalar || (!array.dimension_names.empty() && all_named(array));
  const bool known = named && !conflict;
  if (!known && !profile.always_dimension_names) return attributes;
  Json names = Json::array();
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    std::string name = dimension_name(array, axis, conflict);
    names.push_back(known ? std::move(name) : unique_name(std::move(name), names));
  }
  attributes[kDimensionsAttribute] = std::move(names);
  return attributes;
}

Json group_document(const GroupMetadata* group, ViewFormat format) {
  if (format == ViewFormat::kV2) {
    Json document = {{"zarr_format", 2}};
    if (group != nullptr) show_nczarr_members(group->attributes, document);
    return document;
  }
  Json document = Json::object();
  document["zarr_format"] = 3;
  document["node_type"] = "group";
  document["attributes"] = Json::object();
  if (group == nullptr || !group->document->is_object()) return document;
  for (const auto& [name, value] : group->document->items()) {
    if (name != "consolidated_metadata") document[name] = value;
  }
  document["attributes"] = without_note(std::move(document["attributes"]));
  return document;
}

Json group_attributes(const GroupMetadata& group, const Profile& profile,
                      const LevelNames& levels) {
  if (!group.attributes->is_object()) return Json::object();
  const bool lifted = profile.ome04 && is_ome(group.attributes);
  return shown_attributes(lifted ? ome_as_04(group.attributes, levels) : *group.attributes,
                          profile);
}

Json ungroup_attributes(const Json& written, const GroupMetadata& old) {
  return ungroup_attributes(written, old, Profile());  // all but OME is shown as it is
}

Json ungroup_attributes(const Json& written, const GroupMetadata& old, const Profile& profile,
                        const LevelNames& levels) {
  const Json shown = group_attributes(old, profile, levels);
  const bool lifted = profile.ome04 && is_ome(old.attributes);
  if (!lifted || !written.is_object() || written.contains(kOme)) {
    return restored(old.attributes, shown, written);
  }
  return ome_from_04(written, shown, old.attributes, levels);
}

}  // namespace zarrfs
