#include "core/nodes/mount_overlay.h"

#include <algorithm>
#include <utility>

#include "core/zarr/tree.h"

namespace zarrfs {

namespace {

bool contains(const std::map<std::string, std::set<std::string>>& documents,
              const std::string& directory, const std::string& name) {
  const auto found = documents.find(directory);
  return found != documents.end() && found->second.contains(name);
}

/// Whether the document makes its directory a node.
bool makes_node(const std::string& name) {
  return name == ".zarray" || name == ".zgroup" || name == "zarr.json";
}

bool deletes_node(const std::set<std::string>& removed) {
  return std::any_of(removed.begin(), removed.end(), makes_node);
}

}  // namespace

void MountOverlay::make_chunk_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  chunk_directories_.insert(path);
}

bool MountOverlay::has_chunk_directory(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return chunk_directories_.contains(path);
}

std::vector<std::string> MountOverlay::chunk_directories_in(const std::string& path) const {
  const std::string start = path.empty() ? path : path + "/";
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (auto at = chunk_directories_.lower_bound(start);
       at != chunk_directories_.end() && at->starts_with(start); ++at) {
    if (at->find('/', start.size()) == std::string::npos) names.push_back(at->substr(start.size()));
  }
  return names;
}

void MountOverlay::make_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  written_[path].clear();
}

void MountOverlay::remove_document(const std::string& directory, const std::string& name) {
  const std::lock_guard lock(mutex_);
  removed_[directory].insert(name);
}

void MountOverlay::wrote_document(const std::string& directory, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = removed_.find(directory); found != removed_.end()) {
    found->second.erase(name);
    if (makes_node(name)) std::erase_if(found->second, makes_node);  // it is another node now
    if (found->second.empty()) removed_.erase(found);
  }
  if (const auto found = written_.find(directory); found != written_.end()) {
    found->second.insert(name);
  }
}

bool MountOverlay::is_removed(const std::string& directory, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return contains(removed_, directory, name);
}

bool MountOverlay::hides(const std::string& directory, const std::string& name,
                         bool synthesized) const {
  const std::lock_guard lock(mutex_);
  return contains(removed_, directory, name) ||
         (synthesized && written_.contains(directory) && !contains(written_, directory, name));
}

bool MountOverlay::is_pending_delete(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  const auto found = removed_.find(directory);
  return found != removed_.end() && deletes_node(found->second);
}

std::vector<std::string> MountOverlay::take_pending_deletes() {
  std::vector<std::string> pending;
  const std::lock_guard lock(mutex_);
  for (const auto& [directory, names] : removed_) {
    if (deletes_node(names)) pending.push_back(directory);
  }
  removed_.clear();
  return pending;
}

void MountOverlay::forget(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::erase_if(chunk_directories_, [&](const auto& one) { return is_at_or_below(one, path); });
  std::erase_if(removed_, [&](const auto& one) { return is_at_or_below(one.first, path); });
  std::erase_if(written_, [&](const auto& one) { return is_at_or_below(one.first, path); });
}

void MountOverlay::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> directories;
  for (const std::string& path : chunk_directories_) {
    directories.insert(moved_path(path, from, to));
  }
  chunk_directories_ = std::move(directories);
  for (Documents* documents : {&removed_, &written_}) {
    Documents kept;
    for (auto& [path, names] : *documents) {
      kept[moved_path(path, from, to)] = std::move(names);
    }
    *documents = std::move(kept);
  }
}

}  // namespace zarrfs
