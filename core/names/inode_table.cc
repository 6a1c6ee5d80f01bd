#include "core/names/inode_table.h"

#include "core/base/hash.h"
#include "core/view/node_id.h"
#include "core/zarr/tree.h"

namespace zarrfs {

InodeTable::InodeTable() { look_up(NamedNode{}); }

NodeId InodeTable::look_up(const NamedNode& node) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = ids_.try_emplace(node, next_);
  if (is_new) nodes_.emplace(next_++, Entry{node, 0});
  Entry& entry = nodes_[at->second];
  ++entry.lookups;
  entry.node.path = node.path;
  return at->second;
}

std::optional<NamedNode> InodeTable::find(NodeId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return std::nullopt;
  return found->second.node;
}

void InodeTable::forget(NodeId id, std::uint64_t lookups) {
  if (id == kRootNode) return;
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  if (found->second.lookups > lookups) {
    found->second.lookups -= lookups;
    return;
  }
  if (const auto known = ids_.find(found->second.node);
      known != ids_.end() && known->second == id) {
    ids_.erase(known);
  }
  nodes_.erase(found);
}

void InodeTable::removed(const NamedNode& node) {
  const std::lock_guard lock(mutex_);
  ids_.erase(node);
}

void InodeTable::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, entry] : nodes_) {
    std::string& path = entry.node.path;
    if (!is_at_or_below(path, from)) continue;
    ids_.erase(entry.node);
    path = moved_path(path, from, to);
    ids_.insert_or_assign(entry.node, id);
  }
}

std::size_t InodeTable::size() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

std::size_t InodeTable::Hash::operator()(const NamedNode& node) const {
  const std::uint64_t what = mix_numbers(node.version, static_cast<std::uint64_t>(node.kind));
  return node.by_version() ? what : mix_numbers(digest_of(node.path), what);
}

}  // namespace zarrfs
