#include "core/present/ome_transforms.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr const char* kScale = "scale";
constexpr const char* kTranslation = "translation";
constexpr const char* kSequence = "sequence";
constexpr const char* kSteps = "transformations";

/// x -> scale * x + offset, along one axis.
struct AxisMap {
  Json scale = 1;
  Json offset = 0;
};
using AxisMaps = std::vector<AxisMap>;

bool is_integer(const Json& number, int value) {
  return number.is_number_integer() && number == value;
}

Json product(const Json& a, const Json& b) {
  if (is_integer(a, 1)) return b;
  if (is_integer(b, 1)) return a;
  return a.get<double>() * b.get<double>();
}

Json sum(const Json& a, const Json& b) {
  if (is_integer(a, 0)) return b;
  if (is_integer(b, 0)) return a;
  return a.get<double>() + b.get<double>();
}

void append(AxisMap& map, const AxisMap& next) {
  map.scale = product(map.scale, next.scale);
  map.offset = sum(product(map.offset, next.scale), next.offset);
}

std::string text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json* list_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

bool are_numbers(const Json& list, std::size_t count) {
  return list.is_array() && list.size() == count &&
         std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_number(); });
}

tl::unexpected<Error> cannot(std::string why) { return fail(Fault::kUnsupported, std::move(why)); }

tl::unexpected<Error> more_than_scale(const std::string& type) {
  return cannot(printable(type) + " is more than a scale and a translation");
}

Result<void> append_all(const Json& transformations, AxisMaps& maps);

Result<void> append_vector(const Json& transformation, const char* type, AxisMaps& maps) {
  const auto numbers = transformation.find(type);
  if (numbers == transformation.end() || !are_numbers(*numbers, maps.size())) {
    const std::string axes = std::to_string(maps.size());
    return cannot(std::string(type) + " has no list of " + axes + " numbers, one for each axis");
  }
  const bool scales = type == std::string(kScale);
  for (std::size_t axis = 0; axis < maps.size(); ++axis) {
    AxisMap next;
    (scales ? next.scale : next.offset) = (*numbers)[axis];
    append(maps[axis], next);
  }
  return {};
}

/// An affine matrix has a column more than axes, of what is added; a rotation has none.
Result<void> append_matrix(const Json& transformation, const std::string& type, AxisMaps& maps) {
  const Json* rows = list_member(transformation, type.c_str());
  const std::size_t columns = maps.size() + (type == "affine" ? 1 : 0);
  const bool fits = rows != nullptr && rows->size() == maps.size() &&
                    std::all_of(rows->begin(), rows->end(),
                                [&](const Json& row) { return are_numbers(row, columns); });
  if (!fits) {
    return cannot(printable(type) + " has no matrix of " + std::to_string(maps.size()) + " x " +
                  std::to_string(columns) + " numbers");
  }
  for (std::size_t axis = 0; axis < maps.size(); ++axis) {
    const Json& row = (*rows)[axis];
    for (std::size_t column = 0; column < maps.size(); ++column) {
      if (column != axis && row[column] != 0) return more_than_scale(type);
    }
    append(maps[axis], {row[axis], columns > maps.size() ? row[maps.size()] : Json(0)});
  }
  return {};
}

/// The axes that a part of byDimension takes and makes, where they are the same: 0.6 spells the
/// members inputAxes and outputAxes, 0.6.dev4 input_axes and output_axes.
std::optional<std::vector<std::size_t>> axes_of_part(const Json& part, std::size_t count) {
  const Json* input = list_member(part, part.contains("inputAxes") ? "inputAxes" : "input_axes");
  const Json* output =
      list_member(part, part.contains("outputAxes") ? "outputAxes" : "output_axes");
  if (input == nullptr || output == nullptr || *input != *output) return std::nullopt;
  std::vector<std::size_t> axes;
  for (const Json& axis : *input) {
    if (!axis.is_number_unsigned() || axis.get<std::uint64_t>() >= count) return std::nullopt;
    axes.push_back(axis.get<std::size_t>());
  }
  return axes;
}

Result<void> append_by_dimension(const Json& transformation, AxisMaps& maps) {
  const std::string type = "byDimension";
  const Json* parts = list_member(transformation, kSteps);
  if (parts == nullptr) return cannot(type + " has no list of transformations");
  std::vector<bool> told(maps.size(), false);
  for (const Json& part : *parts) {
    if (!part.is_object() || !part.contains("transformation")) return more_than_scale(type);
    const auto axes = axes_of_part(part, maps.size());
    if (!axes) return more_than_scale(type);
    AxisMaps own(axes->size());
    ZARRFS_CHECK(append_all(Json::array({part["transformation"]}), own));
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t axis = (*axes)[i];
      if (told[axis]) return more_than_scale(type);
      told[axis] = true;
      append(maps[axis], own[i]);
    }
  }
  const bool all = std::all_of(told.begin(), told.end(), [](bool one) { return one; });
  return all ? Result<void>() : more_than_scale(type);
}

bool keeps_order(const Json& transformation, std::size_t axes) {
  const Json* order = list_member(transformation, "mapAxis");
  if (order == nullptr || order->size() != axes) return false;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if ((*order)[axis] != axis) return false;
  }
  return true;
}

Result<void> append_one(const Json& transformation, AxisMaps& maps) {
  if (!transformation.is_object()) return cannot("a transformation is no object");
  const std::string type = text_member(transformation, "type");
  if (type == "identity") return {};
  if (type == kScale) return append_vector(transformation, kScale, maps);
  if (type == kTranslation) return append_vector(transformation, kTranslation, maps);
  if (type == "affine" || type == "rotation") return append_matrix(transformation, type, maps);
  if (type == "byDimension") return append_by_dimension(transformation, maps);
  if (type == "mapAxis" && keeps_order(transformation, maps.size())) return {};
  if (type == "bijection" && transformation.contains("forward")) {
    return append_one(transformation["forward"], maps);
  }
  if (type == kSequence && transformation.contains(kSteps)) {
    return append_all(transformation[kSteps], maps);
  }
  return more_than_scale(type.empty() ? "a transformation without a type" : type);
}

Result<void> append_all(const Json& transformations, AxisMaps& maps) {
  if (!transformations.is_array()) return cannot("transformations are no list");
  for (const Json& transformation : transformations) {
    ZARRFS_CHECK(append_one(transformation, maps));
  }
  return {};
}

/// The name of the system that `place`, an input or output, is: a string in early drafts, an object
/// later. Nothing where it is in another group, or an array.
std::optional<std::string> system_name(const Json& transformation, const char* place) {
  const auto found = transformation.find(place);
  if (found == transformation.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object() || !text_member(*found, "path").empty()) return std::nullopt;
  const std::string name = text_member(*found, "name");
  return name.empty() ? std::nullopt : std::optional(name);
}

std::optional<std::size_t> find_system(const Json& systems, const std::string& name) {
  for (std::size_t i = 0; i < systems.size(); ++i) {
    if (systems[i].is_object() && text_member(systems[i], "name") == name) return i;
  }
  return std::nullopt;
}

using Outputs = std::vector<std::optional<std::string>>;

/// The outputs of a level's transformations, without those that begin at a coordinate system.
Outputs outputs_of(const Json& dataset, const std::set<std::string>& systems) {
  Outputs outputs;
  const std::string path = text_member(dataset, "path");
  for (const Json& transformation : dataset[kTransformations]) {
    const auto input = system_name(transformation, "input");
    const bool from_system = input && *input != path && systems.contains(*input);
    outputs.push_back(from_system ? std::nullopt : system_name(transformation, "output"));
  }
  return outputs;
}

std::string quoted(const std::string& name) { return "\"" + printable(name) + "\""; }

Result<void> check_datasets(const Json& multiscale) {
  constexpr std::size_t kMost = 64;  // of one level; writers put one
  const Json* datasets = list_member(multiscale, kDatasets);
  if (datasets == nullptr || datasets->empty()) return cannot("it has no levels");
  for (const Json& dataset : *datasets) {
    const Json* transformations =
        dataset.is_object() ? list_member(dataset, kTransformations) : nullptr;
    const bool good = transformations != nullptr && !transformations->empty() &&
                      std::all_of(transformations->begin(), transformations->end(),
                                  [](const Json& one) { return one.is_object(); });
    if (!good) return cannot("a level has no transformations");
    if (transformations->size() > kMost) return cannot("a level has more than 64 transformations");
  }
  return {};
}

std::optional<std::size_t> leads_to(const Outputs& outputs, const std::string& name) {
  const auto found = std::find(outputs.begin(), outputs.end(), std::optional(name));
  if (found == outputs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - outputs.begin());
}

/// The system that every level is placed in, and which transformation of each leads to it; no
/// system where no level names any.
struct Intrinsic {
  std::optional<std::string> name;
  std::vector<std::optional<std::size_t>> used;
};

Result<Intrinsic> intrinsic_of(const Json& datasets, const Json& systems) {
  std::set<std::string> names;
  for (const Json& system : systems) {
    if (system.is_object()) names.insert(text_member(system, "name"));
  }
  std::vector<Outputs> outputs;
  bool any = false;
  for (const Json& dataset : datasets) {
    outputs.push_back(outputs_of(dataset, names));
    const Json& all = dataset[kTransformations];
    any = any || std::any_of(all.begin(), all.end(),
                             [](const Json& one) { return one.contains("output"); });
  }
  Intrinsic intrinsic;
  intrinsic.used.resize(outputs.size());
  if (!any) return intrinsic;
  for (const auto& name : outputs.front()) {
    const bool common =
        name && std::all_of(outputs.begin(), outputs.end(),
                            [&](const Outputs& one) { return leads_to(one, *name).has_value(); });
    if (!common) continue;
    intrinsic.name = name;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      intrinsic.used[i] = leads_to(outputs[i], *name);
    }
    return intrinsic;
  }
  return cannot("no coordinate system is the output of every level");
}

/// Which of the coordinate systems `name` is; nothing where the multiscale has axes of its own.
Result<std::optional<std::size_t>> intrinsic_system(const Json& multiscale,
                                                    const std::optional<std::string>& name) {
  using Found = std::optional<std::size_t>;
  const Json& systems = multiscale[kCoordinateSystems];
  if (name) {
    const Found found = find_system(systems, *name);
    if (!found) return cannot("its levels' output " + quoted(*name) + " is not defined");
    return found;
  }
  if (multiscale.contains(kAxes)) return Found();
  if (systems.size() != 1) return cannot("its levels name no output");
  return Found(0);
}

/// Notes a transformation that 0.4 has no words for. It assumes that what is below an image lies
/// where the image does, so an identity that leads there says no more.
void note_left_out(const Json& transformation, PlacedLevels& placed) {
  if (!transformation.is_object()) return;
  const std::string type = text_member(transformation, "type");
  const auto input = system_name(transformation, "input");
  const auto output = system_name(transformation, "output");
  if (type == "identity" && !output) return;
  std::string words = "the " + printable(type);
  if (input) words += " from " + quoted(*input);
  if (output) words += " to " + quoted(*output);
  constexpr std::size_t kNamed = 3;
  std::vector<std::string>& named = placed.left_out;
  if (std::find(named.begin(), named.end(), words) != named.end()) return;
  if (named.size() == kNamed) {
    ++placed.more_left_out;
  } else {
    named.push_back(std::move(words));
  }
}

}  // namespace

Result<Json> scale_and_translation(const Json& transformations, std::size_t axes) {
  AxisMaps maps(axes);
  ZARRFS_CHECK(append_all(transformations, maps));
  Json scale = Json::array();
  Json offset = Json::array();
  bool moved = false;
  for (AxisMap& map : maps) {
    if (!std::isfinite(map.scale.get<double>()) || !std::isfinite(map.offset.get<double>())) {
      return cannot("its numbers are too large");
    }
    moved = moved || map.offset != 0;
    scale.push_back(std::move(map.scale));
    offset.push_back(std::move(map.offset));
  }
  Json simple = Json::array({Json{{"type", kScale}, {kScale, std::move(scale)}}});
  if (moved) simple.push_back(Json{{"type", kTranslation}, {kTranslation, std::move(offset)}});
  return simple;
}

Result<PlacedLevels> place_levels(const Json& multiscale) {
  PlacedLevels placed;
  if (list_member(multiscale, kCoordinateSystems) == nullptr) {
    return cannot("its coordinate systems are no list");
  }
  ZARRFS_CHECK(check_datasets(multiscale));
  const Json& systems = multiscale[kCoordinateSystems];
  const Json& datasets = multiscale[kDatasets];
  ZARRFS_TRY(const Intrinsic intrinsic, intrinsic_of(datasets, systems));
  ZARRFS_TRY(placed.system, intrinsic_system(multiscale, intrinsic.name));
  const Json& home = placed.system ? systems[*placed.system] : multiscale;
  const Json* axes = home.is_object() ? list_member(home, kAxes) : nullptr;
  if (axes == nullptr || axes->empty()) return cannot("its coordinate system has no axes");
  placed.axes = *axes;
  for (const Json& dataset : datasets) {
    PlacedLevels::Level level;
    const Json& all = dataset[kTransformations];
    level.used = intrinsic.used[placed.levels.size()];
    auto simple = scale_and_translation(level.used ? Json::array({all[*level.used]}) : all,
                                        placed.axes.size());
    if (!simple) {
      return cannot("level " + quoted(text_member(dataset, "path")) + ": " +
                    simple.error().message);
    }
    level.transformations = std::move(*simple);
    for (std::size_t i = 0; level.used && i < all.size(); ++i) {
      if (i != *level.used) note_left_out(all[i], placed);
    }
    placed.levels.push_back(std::move(level));
  }
  if (const Json* further = list_member(multiscale, kTransformations)) {
    for (const Json& transformation : *further) note_left_out(transformation, placed);
  }
  return placed;
}

Json as_one_transformation(const Json& transformations, const Json& place) {
  Json one = Json::object();
  const bool alone =
      transformations.is_array() && transformations.size() == 1 && transformations[0].is_object();
  if (alone) {
    one = transformations[0];
  } else {
    one = Json{{"type", kSequence}, {kSteps, transformations}};
  }
  for (const char* member : {"input", "output", "name"}) {
    if (place.contains(member)) one[member] = place[member];
  }
  return one;
}

}  // namespace zarrfs
