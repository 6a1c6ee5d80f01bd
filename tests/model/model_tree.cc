#include "tests/model/model_tree.h"

#include <algorithm>
#include <utility>

namespace zarrfs::testing {
namespace {

template <class Map>
void move_keys(Map& map, const std::string& from, const std::string& to) {
  Map moved;
  for (auto at = map.begin(); at != map.end();) {
    const auto next = std::next(at);
    if (is_at_or_below(at->first, from)) {
      auto node = map.extract(at);
      node.key() = to + node.key().substr(from.size());
      moved.insert(std::move(node));
    }
    at = next;
  }
  map.merge(moved);
}

void move_names(std::set<std::string>& names, const std::string& from, const std::string& to) {
  std::set<std::string> moved;
  for (const std::string& name : names) {
    moved.insert(is_at_or_below(name, from) ? to + name.substr(from.size()) : name);
  }
  names = std::move(moved);
}

}  // namespace

bool is_at_or_below(const std::string& path, const std::string& directory) {
  return directory.empty() || path == directory || path.starts_with(directory + "/");
}

void ModelArray::put(const Shape& chunk, const std::string& shown) {
  const Bytes bytes(shown.begin(), shown.end());
  auto elements = form.shown.decode(bytes);
  const bool whole = elements && elements->size() == form.chunk_bytes();
  chunks[chunk] = {shown, whole ? std::optional(std::move(*elements)) : std::nullopt};
}

void ModelArray::resize(const Shape& shape) {
  form.shape = shape;
  const Shape counts = form.counts();
  std::erase_if(chunks, [&](const auto& chunk) {
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
      if (chunk.first[axis] >= counts[axis]) return true;
    }
    return false;
  });
}

bool ModelArray::holds_back_any() const {
  return std::any_of(chunks.begin(), chunks.end(),
                     [](const auto& chunk) { return !chunk.second.elements; });
}

bool ModelTree::is_taken(const std::string& path) const {
  return groups.contains(path) || arrays.contains(path) || files.contains(path) ||
         directories.contains(path);
}

bool ModelTree::holds_anything(const std::string& path) const {
  const auto below = [&](const std::string& other) {
    return other != path && is_at_or_below(other, path);
  };
  const auto any_key = [&](const auto& map) {
    return std::any_of(map.begin(), map.end(), [&](const auto& item) { return below(item.first); });
  };
  return any_key(groups) || any_key(arrays) || any_key(files) ||
         std::any_of(directories.begin(), directories.end(), below);
}

std::uint64_t ModelTree::chunks_held_back(const std::string& path) const {
  std::uint64_t count = 0;
  for (const auto& [array_path, array] : arrays) {
    if (!is_at_or_below(array_path, path)) continue;
    for (const auto& [chunk, value] : array.chunks) count += value.elements ? 0 : 1;
  }
  return count;
}

void ModelTree::move(const std::string& from, const std::string& to) {
  move_keys(groups, from, to);
  move_keys(arrays, from, to);
  move_keys(files, from, to);
  move_names(directories, from, to);
  move_keys(written, from, to);
}

bool ModelTree::shows(const std::string& path, const std::string& document,
                      bool has_contents) const {
  const auto made = written.find(path);
  return made == written.end() || made->second.contains(document) || has_contents;
}

void ModelTree::remove(const std::string& path) {
  const auto gone = [&](const auto& item) { return is_at_or_below(item.first, path); };
  const auto gone_name = [&](const std::string& name) { return is_at_or_below(name, path); };
  std::erase_if(groups, gone);
  std::erase_if(arrays, gone);
  std::erase_if(files, gone);
  std::erase_if(directories, gone_name);
  std::erase_if(written, gone);
}

void ModelTree::unmount() {
  for (auto& [path, file] : files) file = {file.shown, file.shown, false};
  written.clear();
}

void ModelTree::crash() {
  std::erase_if(files, [](const auto& item) { return !item.second.stored; });
  for (auto& [path, file] : files) file = {*file.stored, file.stored, false};
  written.clear();
}

}  // namespace zarrfs::testing
