#include "core/nodes/node_state.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "core/base/json.h"
#include "core/present/cf_mask.h"

namespace zarrfs {

const ShownDocument* NodeState::document(std::string_view name) const {
  const auto found = std::find_if(documents.begin(), documents.end(),
                                  [name](const ShownDocument& one) { return one.name == name; });
  return found == documents.end() ? nullptr : &*found;
}

Result<std::set<std::string>> image_levels_in(Store& store, const std::string& path) {
  std::set<std::string> levels;
  for (std::string at = path;; at = parent_path(at)) {
    ZARRFS_TRY(const Node node, load_node(store, at));
    const Json attributes = node.group == nullptr ? Json() : *node.group->attributes;
    for (const std::string& level : image_levels(attributes)) {
      std::string array_path = join_path(at, level);
      if (parent_path(array_path) == path) levels.insert(std::move(array_path));
    }
    if (at.empty()) return levels;
  }
}

Result<bool> leads_to_node(Store& store, const std::string& path) {
  constexpr std::size_t kMaxDirectories = 1000;
  constexpr std::size_t kMaxDepth = 8;
  struct Waiting {
    std::string path;
    std::size_t depth = 0;
  };
  std::deque<Waiting> waiting{{path, 0}};
  for (std::size_t seen = 0; seen < kMaxDirectories && !waiting.empty(); ++seen) {
    const Waiting directory = std::move(waiting.front());
    waiting.pop_front();
    const auto listed = store.list(directory.path);
    if (!listed && listed.error().fault == Fault::kUnsupported) continue;  // nothing tells names
    if (!listed) return fail(listed.error());
    const auto& entries = *listed;
    if (!entries) continue;
    const auto has = [&entries](std::string_view name) {
      return std::any_of(entries->begin(), entries->end(),
                         [name](const Entry& entry) { return entry.name == name; });
    };
    if (has("zarr.json")) return true;
    if (has(".zarray") || directory.depth == kMaxDepth) continue;
    for (const Entry& entry : *entries) {
      if (entry.kind != EntryKind::kDirectory || waiting.size() > kMaxDirectories) continue;
      waiting.push_back({join_path(directory.path, entry.name), directory.depth + 1});
    }
  }
  return false;
}

}  // namespace zarrfs
