#include "core/present/ome.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/present/attributes.h"
#include "core/present/ome_transforms.h"

namespace zarrfs {
namespace {

constexpr const char* kVersion = "version";
constexpr const char* kMultiscales = "multiscales";
constexpr const char* kPath = "path";
constexpr const char* kSpatialdata = "spatialdata_attrs";
constexpr const char* kDevSpatialdata = "-dev-spatialdata";

/// The members of 0.4 that 0.5 keeps inside `ome`.
constexpr std::array<const char*, 8> kOmeMembers = {
    kMultiscales, "omero", "plate", "well", "labels", "image-label", "bioformats2raw.layout",
    "series"};
/// Those that carry a version of their own in 0.4.
constexpr std::array<const char*, 4> kVersioned = {"omero", "plate", "well", "image-label"};

bool is_versioned(const std::string& member) {
  return std::find(kVersioned.begin(), kVersioned.end(), member) != kVersioned.end();
}

std::string text_of(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// 0.5-dev-spatialdata keeps its suffix, everything else becomes plain 0.4.
std::string version_04(const Json& ome) {
  return text_of(ome, kVersion).ends_with(kDevSpatialdata) ? std::string("0.4") + kDevSpatialdata
                                                           : std::string("0.4");
}

/// A multiscale as 0.4 says it, or why it cannot. One without coordinate systems is of 0.5.
Result<Json> multiscale_04(Json multiscale) {
  if (!multiscale.contains(kCoordinateSystems)) return multiscale;
  ZARRFS_TRY(PlacedLevels placed, place_levels(multiscale));
  multiscale.erase(kCoordinateSystems);
  multiscale.erase(kTransformations);
  multiscale[kAxes] = std::move(placed.axes);
  for (std::size_t i = 0; i < placed.levels.size(); ++i) {
    multiscale[kDatasets][i][kTransformations] = std::move(placed.levels[i].transformations);
  }
  return multiscale;
}

Json multiscales_04(const Json& multiscales, const std::string& version) {
  if (!multiscales.is_array()) return multiscales;
  Json shown = Json::array();
  for (const Json& multiscale : multiscales) {
    if (!multiscale.is_object()) {
      shown.push_back(multiscale);
      continue;
    }
    auto simple = multiscale_04(multiscale);
    if (!simple) continue;
    (*simple)[kVersion] = version;
    shown.push_back(std::move(*simple));
  }
  return shown;
}

Json member_04(const std::string& member, const Json& value, const std::string& version) {
  if (member == kMultiscales) return multiscales_04(value, version);
  Json shown = value;
  if (is_versioned(member) && shown.is_object()) shown[kVersion] = "0.4";
  return shown;
}

/// The format of each spatialdata element has a version of its own, one lower for Zarr v2.
Json spatialdata_v2(const Json& attributes) {
  Json shown = attributes;
  if (!shown.is_object()) return shown;
  const std::string version = text_of(shown, kVersion);
  if (version == "0.3") shown[kVersion] = "0.2";
  if (version == "0.2") shown[kVersion] = "0.1";
  return shown;
}

/// Whether multiscales have coordinate systems: in 0.6 and its drafts, and in what comes after.
bool has_coordinate_systems(const Json& ome) {
  const std::string version = text_of(ome, kVersion);
  if (!version.starts_with("0.")) return false;
  const std::string minor = version.substr(2, version.find_first_not_of("0123456789", 2) - 2);
  return minor.size() > 1 || minor >= "6";
}

/// 0.4 applies the transformations of the multiscale after those of a level.
Json level_transformations(const Json& dataset, const Json& further, std::size_t axes) {
  Json own = dataset.value(kTransformations, Json());
  if (!own.is_array() || !further.is_array() || further.empty()) return own;
  Json all = own;
  for (const Json& transformation : further) all.push_back(transformation);
  auto simple = scale_and_translation(all, axes);
  return simple ? std::move(*simple) : own;
}

/// A multiscale of 0.6 and how it was shown, its levels in the same order.
struct ShownMultiscale {
  const Json& stored;
  const Json& shown;
  const PlacedLevels& placed;
  std::map<std::string, std::size_t> levels;  ///< By the paths that are shown.

  ShownMultiscale(const Json& of, const Json& as, const PlacedLevels& told)
      : stored(of), shown(as), placed(told) {
    for (std::size_t i = 0; i < shown[kDatasets].size(); ++i) {
      levels.emplace(text_of(shown[kDatasets][i], kPath), i);
    }
  }
};

/// A level that 0.6 has not yet, placed in the system `output`.
Json new_level(Json dataset, const Json& transformations, const Json& output) {
  const Json place = {{"input", {{kPath, dataset[kPath]}}}, {"output", output}};
  dataset[kTransformations] = Json::array({as_one_transformation(transformations, place)});
  return dataset;
}

/// A level of 0.4 as one of 0.6: what is said of its place goes where that stood.
Json level_06(const Json& written, const Json& transformations, const ShownMultiscale& old) {
  const auto found = old.levels.find(text_of(written, kPath));
  if (found == old.levels.end()) {
    const auto used = old.placed.levels.front().used;
    const Json& first = old.stored[kDatasets].front()[kTransformations];
    if (used) return new_level(written, transformations, first[*used]["output"]);
    Json level = written;
    level[kTransformations] = transformations;
    return level;
  }
  const Json& shown = old.shown[kDatasets][found->second];
  Json rest = written;
  rest[kTransformations] = shown[kTransformations];
  Json level = restored(old.stored[kDatasets][found->second], shown, rest);
  if (same_json(transformations, shown[kTransformations])) return level;
  Json& all = level[kTransformations];
  if (const auto used = old.placed.levels[found->second].used) {
    all[*used] = as_one_transformation(transformations, all[*used]);
  } else {
    all = transformations;
  }
  return level;
}

bool is_multiscale_04(const Json& multiscale) {
  const auto is_list = [](const Json& holder, const char* member) {
    return holder.contains(member) && holder[member].is_array();
  };
  return multiscale.is_object() && !multiscale.contains(kCoordinateSystems) &&
         is_list(multiscale, kAxes) && is_list(multiscale, kDatasets) &&
         std::all_of(multiscale[kDatasets].begin(), multiscale[kDatasets].end(),
                     [&](const Json& dataset) {
                       return dataset.is_object() && !text_of(dataset, kPath).empty() &&
                              is_list(dataset, kTransformations);
                     });
}

Json without_version(Json multiscale) {
  if (multiscale.is_object()) multiscale.erase(kVersion);
  return multiscale;
}

/// A multiscale of 0.4 that a program made, as one of 0.6. What is no multiscale stays as it is.
Json new_multiscale_06(const Json& written) {
  constexpr const char* kIntrinsic = "intrinsic";
  Json multiscale = without_version(written);
  if (!is_multiscale_04(written)) return multiscale;
  const Json further = written.value(kTransformations, Json());
  multiscale.erase(kAxes);
  multiscale.erase(kTransformations);
  multiscale[kCoordinateSystems] =
      Json::array({Json{{"name", kIntrinsic}, {kAxes, written[kAxes]}}});
  for (Json& dataset : multiscale[kDatasets]) {
    const Json own = level_transformations(dataset, further, written[kAxes].size());
    dataset = new_level(std::move(dataset), own, Json{{"name", kIntrinsic}});
  }
  return multiscale;
}

/// A multiscale with coordinate systems: axes and places go where they are stored.
Json restored_multiscale(const Json& stored, const Json& shown, const Json& written) {
  if (same_json(shown, written)) return stored;
  auto placed = stored.is_object() && stored.contains(kCoordinateSystems)
                    ? place_levels(stored)
                    : Result<PlacedLevels>(fail(Fault::kUnsupported, ""));
  if (!placed || !is_multiscale_04(written)) return restored(stored, shown, written);
  const ShownMultiscale old(stored, shown, *placed);
  const auto others = [](Json multiscale) {
    for (const char* member : {kAxes, kDatasets, kTransformations}) multiscale.erase(member);
    return multiscale;
  };
  Json result = stored;
  const Json before = others(stored);
  const Json kept = restored(before, others(shown), others(written));
  for (const auto& [name, value] : before.items()) {
    if (!kept.contains(name)) result.erase(name);
  }
  result.update(kept);
  Json& home = placed->system ? result[kCoordinateSystems][*placed->system] : result;
  home[kAxes] = restored(home[kAxes], shown[kAxes], written[kAxes]);
  result[kDatasets] = Json::array();
  const Json further = written.value(kTransformations, Json());
  for (const Json& dataset : written[kDatasets]) {
    const Json own = level_transformations(dataset, further, written[kAxes].size());
    result[kDatasets].push_back(level_06(dataset, own, old));
  }
  return result;
}

/// A member of 0.4 as it is stored in an `ome`: without versions of its own, and with coordinate
/// systems where that has them.
Json stored_member(const std::string& member, Json value, bool systems) {
  if (member == kMultiscales && value.is_array()) {
    for (Json& multiscale : value) {
      multiscale = systems ? new_multiscale_06(multiscale) : without_version(multiscale);
    }
  } else if (is_versioned(member) && value.is_object()) {
    value.erase(kVersion);
  }
  return value;
}

bool belongs_to_ome(const std::string& name, const Json& old_attributes) {
  if (name == kVersion) return false;
  if (old_attributes[kOme].contains(name)) return true;
  if (old_attributes.contains(name)) return false;
  return std::find(kOmeMembers.begin(), kOmeMembers.end(), name) != kOmeMembers.end();
}

bool was_shown(const Json& multiscale) {
  return !multiscale.is_object() || multiscale_04(multiscale).has_value();
}

/// Multiscales of which there were others before: those that come back as they were shown stay.
Json other_multiscales(const std::vector<Json>& stored, const Json& shown, const Json& written,
                       bool systems) {
  Json result = stored_member(kMultiscales, written, systems);
  std::map<std::string, std::size_t> as_shown;
  for (std::size_t i = 0; i < stored.size(); ++i) as_shown.emplace(dump_json(shown[i]), i);
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto found = as_shown.find(dump_json(written[i]));
    if (found != as_shown.end()) result[i] = stored[found->second];
  }
  return result;
}

/// Multiscales that 0.4 cannot say were not shown, and stay.
Json restored_multiscales(const Json& stored, const Json& shown, const Json& written,
                          bool systems) {
  std::vector<Json> of_shown;
  if (stored.is_array())
    std::copy_if(stored.begin(), stored.end(), std::back_inserter(of_shown), was_shown);
  if (!shown.is_array() || !written.is_array() || shown.size() != of_shown.size()) {
    return stored_member(kMultiscales, written, systems);
  }
  const bool same = written.size() == shown.size();
  Json result = same ? Json::array() : other_multiscales(of_shown, shown, written, systems);
  std::size_t at = 0;
  for (const Json& one : stored) {
    if (!was_shown(one)) {
      result.push_back(one);
    } else if (same) {
      result.push_back(restored_multiscale(one, shown[at], written[at]));
      ++at;
    }
  }
  return result;
}

bool are_objects(const Json& a, const Json& b, const Json& c) {
  return a.is_object() && b.is_object() && c.is_object();
}

Json restored_ome_member(const std::string& name, const Json& stored, const Json& shown,
                         const Json& written, bool systems) {
  if (same_json(written, shown)) return stored;
  if (name == kMultiscales) return restored_multiscales(stored, shown, written, systems);
  return are_objects(stored, shown, written) ? restored(stored, shown, written)
                                             : stored_member(name, written, systems);
}

/// The members of `ome`, of which all but the version are shown.
Json restored_ome(const Json& stored, const Json& shown, const Json& written) {
  const bool systems = has_coordinate_systems(stored);
  Json result = Json::object();
  for (const auto& [name, value] : stored.items()) {
    if (!shown.contains(name)) {
      result[name] = value;
    } else if (written.contains(name)) {
      result[name] = restored_ome_member(name, value, shown[name], written[name], systems);
    }
  }
  for (const auto& [name, value] : written.items()) {
    if (!stored.contains(name)) result[name] = stored_member(name, value, systems);
  }
  return result;
}

/// The attributes that belong into `ome`, and the others.
std::pair<Json, Json> split_ome(const Json& attributes, const Json& old_attributes) {
  std::pair<Json, Json> parts{Json::object(), Json::object()};
  for (const auto& [name, value] : attributes.items()) {
    (belongs_to_ome(name, old_attributes) ? parts.first : parts.second)[name] = value;
  }
  return parts;
}

/// What 0.4 lacks of the images of a group, each in words.
void list_lacks(const Json& multiscales, Ome04Lacks& lacks, std::vector<std::string>& words) {
  if (!multiscales.is_array()) return;
  for (std::size_t i = 0; i < multiscales.size(); ++i) {
    const Json& multiscale = multiscales[i];
    if (!multiscale.is_object() || !multiscale.contains(kCoordinateSystems)) continue;
    const std::string name = text_of(multiscale, "name");
    const std::string image =
        "image " + (name.empty() ? std::to_string(i) : "\"" + printable(name) + "\"");
    const auto placed = place_levels(multiscale);
    if (!placed) {
      lacks.images = true;
      words.push_back(image + " is left out: " + placed.error().message);
    } else if (!placed->left_out.empty()) {
      std::string text = image + " is shown without ";
      for (const std::string& one : placed->left_out) {
        text += (&one == &placed->left_out.front() ? "" : ", ") + one;
      }
      const std::size_t more = placed->more_left_out;
      words.push_back(text + (more > 0 ? " and " + std::to_string(more) + " more" : ""));
    }
  }
}

}  // namespace

bool is_ome(const Json& attributes) {
  if (!attributes.is_object()) return false;
  const auto ome = attributes.find(kOme);
  if (ome == attributes.end() || !ome->is_object()) return false;
  return std::any_of(kOmeMembers.begin(), kOmeMembers.end(),
                     [&](const char* member) { return ome->contains(member); });
}

Json ome_as_04(const Json& attributes, const LevelNames& levels) {
  const Json& ome = attributes[kOme];
  const std::string version = version_04(ome);
  Json shown = Json::object();
  for (const auto& [name, value] : attributes.items()) {
    if (name != kOme) {
      const bool hidden = name != kVersion && ome.contains(name);
      if (!hidden) shown[name] = name == kSpatialdata ? spatialdata_v2(value) : value;
      continue;
    }
    for (const auto& [member, inner] : ome.items()) {
      if (member == kVersion) continue;
      shown[member] = member_04(member, inner, version);
      if (member == kMultiscales) shown[member] = levels.show(std::move(shown[member]));
    }
  }
  return shown;
}

Json ome_from_04(const Json& written, const Json& shown, const Json& stored,
                 const LevelNames& levels) {
  const auto [shown_ome, shown_rest] = split_ome(shown, stored);
  const auto [written_ome, written_rest] = split_ome(written, stored);
  Json rest = stored;
  rest.erase(kOme);
  const Json others = restored(rest, shown_rest, written_rest);
  Json ome = restored_ome(stored[kOme], shown_ome, written_ome);
  const bool relevelled = ome.contains(kMultiscales) &&
                          !same_json(ome[kMultiscales], stored[kOme].value(kMultiscales, Json()));
  if (relevelled) ome[kMultiscales] = levels.restore(std::move(ome[kMultiscales]));
  Json attributes = Json::object();
  for (const auto& [name, value] : stored.items()) {  // in the order that they had
    if (name == kOme) attributes[kOme] = ome;
    if (name != kOme && others.contains(name)) attributes[name] = others[name];
  }
  attributes.update(others);
  return attributes;
}

Ome04Lacks ome04_lacks(const Json& attributes) {
  constexpr std::size_t kTold = 3;
  Ome04Lacks lacks;
  if (!attributes.is_object() || !attributes.contains(kOme)) return lacks;
  const Json& ome = attributes[kOme];
  if (!ome.is_object()) return lacks;
  std::vector<std::string> words;
  if (ome.contains(kMultiscales)) list_lacks(ome[kMultiscales], lacks, words);
  if (ome.contains("scene")) words.emplace_back("the scene, where images lie, is left out");
  for (std::size_t i = 0; i < std::min(words.size(), kTold); ++i) {
    lacks.text += (i == 0 ? "OME-Zarr 0.4 cannot say all: " : "; ") + words[i];
  }
  if (words.size() > kTold) {
    lacks.text += "; and " + std::to_string(words.size() - kTold) + " more";
  }
  return lacks;
}

}  // namespace zarrfs
