#include "core/view/node_state.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace zarrfs {

const ShownDocument* NodeState::document(std::string_view name) const {
  const auto found = std::find_if(documents.begin(), documents.end(),
                                  [name](const ShownDocument& one) { return one.name == name; });
  return found == documents.end() ? nullptr : &*found;
}

std::uint64_t NodeState::edge(std::size_t axis) const {
  const auto& shape = presentation.rule == ByteRule::kRechunk ? presentation.chunk_shape
                                                              : reader->layout().chunk_shape();
  return std::max<std::uint64_t>(shape[axis], 1);
}

bool NodeState::shows_cells() const {
  return !reader->layout().regular() && presentation.rule != ByteRule::kRechunk;
}

AxisRange NodeState::cells_of(std::size_t axis, std::uint64_t coordinate) const {
  if (shows_cells()) return {coordinate, coordinate};
  const AxisGrid& grid = reader->layout().grid().axes[axis];
  const std::uint64_t begin = coordinate * edge(axis);
  const std::uint64_t length = std::min(edge(axis), grid.extent() - begin);
  return {grid.find(begin), grid.find(begin + length - 1)};
}

NodeState::Span NodeState::shown_of(std::size_t axis, std::uint64_t cell) const {
  if (shows_cells()) return {cell, cell + 1};
  const AxisGrid& grid = reader->layout().grid().axes[axis];
  const std::uint64_t begin = grid.begin(cell);
  const std::uint64_t length = std::min(grid.edge(cell), grid.extent() - begin);
  return {begin / edge(axis), divide_up(begin + length, edge(axis))};
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
    ZARRFS_TRY(const auto entries, store.list(directory.path));
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

std::string part_path(const NodeState& array, const NamedPart& part) {
  const bool below_c = array.presentation.keys.kind == ChunkKeyEncoding::Kind::kDefault;
  std::string path = below_c ? join_path(array.path, "c") : array.path;
  for (const std::uint64_t number : part.coordinates)
    path = join_path(path, std::to_string(number));
  return path;
}

}  // namespace zarrfs
