#include "core/nodes/survey.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/present/attributes.h"
#include "core/present/cf_mask.h"
#include "core/present/dimension_names.h"
#include "core/present/ome.h"
#include "core/present/presentation.h"

namespace zarrfs {
namespace {

constexpr std::size_t kDeepest = 16;
constexpr std::size_t kNamed = 3;  // in a line for the user

/// Attributes of the CF conventions that no other convention gives to an array.
constexpr std::array<const char*, 9> kCfAttributes = {
    "_FillValue", "missing_value", "scale_factor", "add_offset",  "standard_name",
    "calendar",   "grid_mapping",  "cell_methods", "coordinates",
};

/// Whether the array is a coordinate of its group, as xarray writes them.
bool is_coordinate(const ArrayMetadata& array, const std::string& path) {
  const std::string name = last_name(path);
  return array.shape.size() == 1 && array.dimension_names.size() == 1 &&
         array.dimension_names[0] == name;
}

bool follows_cf(const ArrayMetadata& array, const std::string& path) {
  const bool named = !array.dimension_names.empty();
  return is_coordinate(array, path) ||
         (named && array.attributes->is_object() &&
          std::any_of(kCfAttributes.begin(), kCfAttributes.end(),
                      [&](const char* name) { return array.attributes->contains(name); }));
}

bool follows_cf(const GroupMetadata& group) {
  if (!group.attributes->is_object() || !group.attributes->contains("Conventions")) return false;
  const Json& conventions = group.attributes["Conventions"];
  return conventions.is_string() &&
         conventions.get_ref<const std::string&>().find("CF-") != std::string::npos;
}

class Surveyor {
 public:
  Surveyor(Store& store, std::size_t most) : store_(store), most_(most) {}

  Survey look() {
    waiting_.push_back({});
    for (std::size_t seen = 0; !waiting_.empty(); ++seen) {
      if (seen == most_) {
        survey_.whole = false;
        break;
      }
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      look_at(std::move(next));
    }
    return std::move(survey_);
  }

 private:
  struct Waiting {
    std::string path;
    std::size_t depth = 0;
    bool in_image = false;
  };

  void look_at(Waiting at) {
    auto node = load_node(store_, at.path);
    if (!node || node->kind == Node::Kind::kDamaged) return survey_.unreadable.push_back(at.path);
    if (node->kind == Node::Kind::kUnsupported) return survey_.unsupported.push_back(at.path);
    if (node->array != nullptr) {
      if (!survey_.cf && follows_cf(*node->array, at.path)) survey_.cf = at.path;
      if (!survey_.lists && needs_text_for_netcdf(node->array->attributes)) survey_.lists = at.path;
      const bool damaged = node->layout == nullptr && node->error.fault != Fault::kUnsupported;
      if (damaged) survey_.unreadable.push_back(at.path);
      survey_.arrays.push_back({at.path, std::move(*node), at.in_image});
      return;
    }
    if (node->group != nullptr) {
      const Json& attributes = node->group->attributes;
      at.in_image = at.in_image || is_ome(attributes) || is_ome04(attributes);
      if (!survey_.ome && at.in_image) survey_.ome = at.path;
      if (!survey_.lists && needs_text_for_netcdf(attributes)) survey_.lists = at.path;
      if (!survey_.cf && follows_cf(*node->group)) survey_.cf = at.path;
      const Ome04Lacks lacks = ome04_lacks(attributes);
      if (!lacks.text.empty()) {
        (lacks.images ? survey_.unplaced : survey_.reduced).push_back(at.path);
      }
    }
    if (node->kind == Node::Kind::kGroup || node->kind == Node::Kind::kPlain) enter(at);
  }

  void enter(const Waiting& at) {
    auto entries = store_.list(at.path);
    if (!entries && entries.error().fault == Fault::kUnsupported) {
      survey_.whole = false;
      if (!survey_.untold) survey_.untold = at.path;
    }
    if (!entries || !*entries) return;
    std::vector<std::string> names;
    for (Entry& entry : **entries) {
      const bool own = entry.name.starts_with(".zarrfs");
      if (entry.kind != EntryKind::kFile && !own) names.push_back(std::move(entry.name));
    }
    if (at.depth == kDeepest || waiting_.size() > most_) {
      survey_.whole = survey_.whole && names.empty();
      return;
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      waiting_.push_back({join_path(at.path, name), at.depth + 1, at.in_image});
    }
  }

  Store& store_;
  std::size_t most_;
  Survey survey_;
  std::deque<Waiting> waiting_;
};

/// "4 hidden (/a, /b, /c and 1 more)"
std::string named(const std::vector<std::string>& paths, const std::string& what) {
  std::string names;
  for (std::size_t i = 0; i < std::min(paths.size(), kNamed); ++i) {
    names += (i > 0 ? ", /" : "/") + printable(paths[i]);
  }
  const std::size_t more = paths.size() > kNamed ? paths.size() - kNamed : 0;
  return std::to_string(paths.size()) + " " + what + " (" + names +
         (more > 0 ? " and " + std::to_string(more) + " more)" : ")");
}

Presentation presented(const Survey::Array& array, const Profile& profile,
                       const ViewOptions& options) {
  return present_array(array.path, array.node.array, array.node.layout, profile, options, {});
}

bool is_hidden(const Survey::Array& array, const Profile& profile, const ViewOptions& options) {
  if (array.node.layout == nullptr) return array.node.error.fault == Fault::kUnsupported;
  return presented(array, profile, options).hidden;
}

/// The first array that xarray can be shown, and netCDF-C cannot; the end where there is none.
std::vector<Survey::Array>::const_iterator hidden_from_netcdf(const Survey& survey) {
  ViewOptions options;
  options.profile = "netcdf";
  const auto profile = choose_profile(options);
  return std::find_if(survey.arrays.begin(), survey.arrays.end(), [&](const auto& array) {
    return !profile || is_hidden(array, *profile, options);
  });
}

/// Whether netCDF-C would be shown other names of dimensions than the store has: to it each has one
/// length.
bool netcdf_renames_dimensions(const Survey& survey) {
  DimensionNames shown;
  for (const Survey::Array& array : survey.arrays) shown.add(*array.node.array);
  return std::any_of(survey.arrays.begin(), survey.arrays.end(), [&](const Survey::Array& found) {
    const ArrayMetadata& array = *found.node.array;
    const std::vector<std::string> names = names_of_dimensions(array);
    for (std::size_t axis = 0; axis < names.size(); ++axis) {
      if (shown.shown(names[axis], array.shape[axis]) != names[axis]) return true;
    }
    return false;
  });
}

}  // namespace

Survey survey_store(Store& store, std::size_t most) { return Surveyor(store, most).look(); }

ProfileChoice choose_for(const Survey& survey) {
  if (survey.ome) return {"ome", "/" + printable(*survey.ome) + " has OME-Zarr metadata"};
  if (!survey.cf) return {"generic", "no OME-Zarr or CF metadata"};
  const std::string because =
      "/" + printable(*survey.cf) + " has metadata as xarray and netCDF write it";
  const std::string instead = because + "; programs of netCDF need profile=netcdf, which would ";
  if (const auto hidden = hidden_from_netcdf(survey); hidden != survey.arrays.end()) {
    return {"xarray", instead + "hide /" + printable(hidden->path)};
  }
  if (netcdf_renames_dimensions(survey)) return {"xarray", instead + "rename dimensions"};
  return {"netcdf", because};
}

std::optional<Profile> profile_of_others(const Survey& survey, const ProfileChoice& choice) {
  if (choice.profile != "ome") return std::nullopt;
  ViewOptions options;
  options.profile = survey.cf ? "xarray" : "generic";
  auto profile = choose_profile(options);
  if (!profile) return std::nullopt;
  profile->as_noted = true;
  return std::move(*profile);
}

std::string contents_of(const Survey& survey) {
  const std::size_t count = survey.arrays.size();
  const std::string counted = std::to_string(count) + (count == 1 ? " array" : " arrays");
  if (survey.untold) {
    return (count == 0 ? "only" : counted + ", and") +
           " what is opened by name: nothing tells the names in /" + printable(*survey.untold);
  }
  if (!survey.whole) return "more than " + std::to_string(count) + " arrays";
  return count == 0 ? "no arrays" : counted;
}

Shortcomings shortcomings(const Survey& survey, const Profile& profile,
                          const std::optional<Profile>& of_others, const ViewOptions& options) {
  Shortcomings found;
  const auto tell = [&found](const std::vector<std::string>& paths, const std::string& what) {
    if (paths.empty()) return;
    found.text += (found.text.empty() ? "" : ", ") + named(paths, what);
    found.paths.insert(found.paths.end(), paths.begin(), paths.end());
  };
  std::vector<std::string> hidden = survey.unsupported;
  std::vector<std::string> not_rechunked;
  for (const Survey::Array& array : survey.arrays) {
    const bool as_other = of_others && !array.in_image && !is_hidden(array, *of_others, options);
    if (is_hidden(array, profile, options) && !as_other) {
      hidden.push_back(array.path);
    } else if (array.node.layout != nullptr && !options.rechunk.empty() &&
               presented(array, profile, options).not_rechunked) {
      not_rechunked.push_back(array.path);
    }
  }
  tell(survey.unreadable, "cannot be read");
  tell(hidden, "hidden");
  tell(not_rechunked, "not re-chunked");
  if (profile.ome04 && options.format == ViewFormat::kV2) {
    tell(survey.unplaced, "with an image that OME-Zarr 0.4 cannot place");
    tell(survey.reduced, "without what OME-Zarr 0.4 cannot say");
  }
  return found;
}

}  // namespace zarrfs
