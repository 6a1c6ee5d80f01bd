#include "core/names/inode_table.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "core/view/node_id.h"
#include "core/zarr/tree.h"

namespace zarrfs {

InodeTable::InodeTable() { look_up(NamedNode{}); }

NodeId InodeTable::look_up(const NamedNode& node) {
  const std::lock_guard lock(mutex_);
  if (const auto known = called_.find(node); known != called_.end()) {
    Entry& entry = nodes_.find((*known)->first)->second;
    ++entry.lookups;
    entry.used = true;
    // The same file by another name: what tells files apart stays.
    if (entry.node.path != node.path) {
      path_bytes_ += node.path.size() - entry.node.path.size();
      entry.node.path = node.path;
    }
    return (*known)->first;
  }
  const auto made = nodes_.emplace(next_++, Entry{node, 1}).first;
  path_bytes_ += node.path.size();
  called_.insert(&*made);
  return made->first;
}

std::optional<NamedNode> InodeTable::find(NodeId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return std::nullopt;
  found->second.used = true;
  return found->second.node;
}

bool InodeTable::look_up_again(NodeId id) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return false;
  ++found->second.lookups;
  found->second.used = true;
  return true;
}

std::optional<std::string> InodeTable::forget(NodeId id, std::uint64_t lookups) {
  if (id == kRootNode) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return std::nullopt;
  if (found->second.lookups > lookups) {
    found->second.lookups -= lookups;
    return std::nullopt;
  }
  const NamedNode node = found->second.node;
  if (const auto called = called_.find(node); called != called_.end() && *called == &*found) {
    called_.erase(called);
  }
  path_bytes_ -= node.path.size();
  nodes_.erase(found);
  if (node.kind != NamedNode::Kind::kDirectory || is_known_directory(node.path)) {
    return std::nullopt;
  }
  return node.path;
}

/// By another number: the directory was removed and made again, while it was in use.
bool InodeTable::is_known_directory(const std::string& path) const {
  const NamedNode node{NamedNode::Kind::kDirectory, path, 0};
  if (called_.contains(node)) return true;
  if (called_.size() == nodes_.size()) return false;
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const auto& one) { return one.second.node == node; });
}

void InodeTable::removed(const NamedNode& node) {
  const std::lock_guard lock(mutex_);
  if (const auto called = called_.find(node); called != called_.end()) called_.erase(called);
}

void InodeTable::became(const NamedNode& file, const std::string& path) {
  constexpr std::uint64_t kNoVersion = 0;
  const std::lock_guard lock(mutex_);
  const auto called = called_.find(file);
  if (called == called_.end()) return;
  NamedNode& node = nodes_.find((*called)->first)->second.node;
  called_.erase(called);
  path_bytes_ += path.size() - node.path.size();
  node.path = path;
  node.version = kNoVersion;
}

void InodeTable::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (auto& one : nodes_) {
    std::string& path = one.second.node.path;
    if (!is_at_or_below(path, from)) continue;
    const auto called = called_.find(&one);
    const bool was_called = called != called_.end() && *called == &one;
    if (was_called) called_.erase(called);
    path_bytes_ += to.size() - from.size();
    path = moved_path(path, from, to);
    if (!was_called) continue;
    // What was there is called so no longer.
    if (const auto there = called_.find(&one); there != called_.end()) called_.erase(there);
    called_.insert(&one);
  }
}

std::uint64_t InodeTable::bytes() const {
  constexpr std::uint64_t kNode = 176;  // with the nodes of both tables, and the allocator's words
  const std::lock_guard lock(mutex_);
  return nodes_.size() * kNode + path_bytes_ +
         (nodes_.bucket_count() + called_.bucket_count()) * sizeof(void*);
}

std::vector<NodeId> InodeTable::unused(std::size_t most) {
  std::vector<NodeId> found;
  const std::lock_guard lock(mutex_);
  const std::size_t buckets = nodes_.bucket_count();
  for (std::size_t looked = 0, round = 0; looked < most && round < buckets; ++round) {
    hand_ = (hand_ + 1) % buckets;
    for (auto one = nodes_.begin(hand_); one != nodes_.end(hand_); ++one, ++looked) {
      if (!std::exchange(one->second.used, false) && one->first != kRootNode) {
        found.push_back(one->first);
      }
    }
  }
  return found;
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
