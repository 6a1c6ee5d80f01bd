#include "core/present/dimension_names.h"

#include <algorithm>

#include "core/base/json.h"

namespace zarrfs {
namespace {

std::string with_length(const std::string& name, std::uint64_t length) {
  return name + "_" + std::to_string(length);
}

/// A list of as many names as there are dimensions.
bool names_all(const Json& attribute, std::size_t rank) {
  return attribute.is_array() && attribute.size() == rank &&
         std::all_of(attribute.begin(), attribute.end(),
                     [](const Json& name) { return name.is_string(); });
}

}  // namespace

std::vector<std::string> names_of_dimensions(const ArrayMetadata& array) {
  const std::size_t rank = array.shape.size();
  if (array.attributes->is_object() && array.attributes->contains(kDimensionsAttribute)) {
    const Json& attribute = array.attributes[kDimensionsAttribute];
    if (names_all(attribute, rank)) return attribute.get<std::vector<std::string>>();
  }
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool named = axis < array.dimension_names.size() && array.dimension_names[axis];
    std::string name = named ? *array.dimension_names[axis]
                             : with_length("dim_" + std::to_string(axis), array.shape[axis]);
    while (!named && std::find(names.begin(), names.end(), name) != names.end()) name += "_";
    names.push_back(std::move(name));
  }
  return names;
}

void DimensionNames::add(const ArrayMetadata& array) {
  const std::vector<std::string> names = names_of_dimensions(array);
  for (std::size_t axis = 0; axis < names.size(); ++axis) add(names[axis], array.shape[axis]);
}

void DimensionNames::add(const std::string& name, std::uint64_t length) {
  if (shown_.contains({name, length})) return;
  const auto is_taken = [&](const std::string& one) {
    const auto found = taken_.find(one);
    return found != taken_.end() && found->second != length;
  };
  std::string shown = name;
  if (is_taken(shown)) shown = with_length(name, length);
  while (is_taken(shown)) shown += "_";
  taken_[shown] = length;
  shown_[{name, length}] = std::move(shown);
}

std::string DimensionNames::shown(const std::string& name, std::uint64_t length) const {
  const auto found = shown_.find({name, length});
  return found == shown_.end() ? with_length(name, length) : found->second;
}

}  // namespace zarrfs
