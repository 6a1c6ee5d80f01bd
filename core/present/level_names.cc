#include "core/present/level_names.h"

#include <algorithm>

#include "core/base/json.h"

namespace zarrfs {
namespace {

/// Changes the path of each level of `multiscales`.
template <class Change>
Json with_paths(Json multiscales, const Change& change) {
  if (!multiscales.is_array()) return multiscales;
  for (Json& multiscale : multiscales) {
    if (!multiscale.is_object() || !multiscale.contains("datasets")) continue;
    Json& datasets = multiscale["datasets"];
    if (!datasets.is_array()) continue;
    for (Json& dataset : datasets) {
      if (!dataset.is_object() || !dataset.contains("path")) continue;
      Json& path = dataset["path"];
      if (path.is_string()) path = change(path.get<std::string>());
    }
  }
  return multiscales;
}

bool can_be_renamed(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace

LevelNames LevelNames::numbered(const Json& multiscales) {
  std::vector<std::string> paths;
  if (multiscales.is_array() && !multiscales.empty()) {
    with_paths(Json::array({multiscales.front()}), [&](const std::string& path) {
      paths.push_back(path);
      return path;
    });
  }
  LevelNames levels;
  for (std::size_t level = 0; level < paths.size(); ++level) {
    const std::string number = std::to_string(level);
    if (paths[level] == number) continue;
    const bool taken = std::find(paths.begin(), paths.end(), number) != paths.end();
    const bool twice = std::count(paths.begin(), paths.end(), paths[level]) > 1;
    if (taken || twice || !can_be_renamed(paths[level])) return {};
    levels.names_.emplace_back(paths[level], number);
  }
  return levels;
}

std::vector<std::string> LevelNames::all_shown() const {
  std::vector<std::string> shown;
  for (const auto& [stored_name, shown_name] : names_) shown.push_back(shown_name);
  return shown;
}

std::string LevelNames::shown(const std::string& stored) const {
  for (const auto& [stored_name, shown_name] : names_) {
    if (stored_name == stored) return shown_name;
  }
  return stored;
}

std::optional<std::string> LevelNames::stored(const std::string& shown) const {
  for (const auto& [stored_name, shown_name] : names_) {
    if (shown_name == shown) return stored_name;
    if (stored_name == shown) return std::nullopt;
  }
  return shown;
}

Json LevelNames::show(Json multiscales) const {
  if (empty()) return multiscales;
  return with_paths(std::move(multiscales), [&](const std::string& path) { return shown(path); });
}

Json LevelNames::restore(Json multiscales) const {
  if (empty()) return multiscales;
  return with_paths(std::move(multiscales),
                    [&](const std::string& path) { return stored(path).value_or(path); });
}

}  // namespace zarrfs
