#include "core/formats/icechunk/manifest_cache.h"

#include <algorithm>
#include <chrono>

#include "core/base/request.h"

namespace zarrfs {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

}  // namespace

ManifestCache::Pointer ManifestCache::find_locked(const std::string& name) {
  const auto found = std::find_if(newest_first_.begin(), newest_first_.end(),
                                  [&](const auto& kept) { return kept.first == name; });
  if (found == newest_first_.end()) return nullptr;
  newest_first_.splice(newest_first_.begin(), newest_first_, found);
  return found->second;
}

ManifestCache::Pointer ManifestCache::find(const std::string& name) {
  const HeldLock lock(mutex_);
  return find_locked(name);
}

std::size_t ManifestCache::bytes() {
  const HeldLock lock(mutex_);
  return bytes_;
}

Result<ManifestCache::Pointer> ManifestCache::find_or_begin(const std::string& name) {
  HeldLock lock(mutex_);
  while (true) {
    if (Pointer found = find_locked(name)) return found;
    if (reading_.insert(name).second) return nullptr;
    ZARRFS_CHECK(check_wanted());
    done_.wait_for(lock, kLook);
  }
}

void ManifestCache::keep(const std::string& name, Pointer manifest) {
  std::list<std::pair<std::string, Pointer>> let_go_after_unlock;
  const HeldLock lock(mutex_);
  reading_.erase(name);
  done_.notify_all();
  if (manifest == nullptr) return;
  bytes_ += manifest->memory();
  newest_first_.emplace_front(name, std::move(manifest));
  while (bytes_ > most_ && newest_first_.size() > 1) {
    bytes_ -= newest_first_.back().second->memory();
    let_go_after_unlock.splice(let_go_after_unlock.begin(), newest_first_,
                               std::prev(newest_first_.end()));
  }
}

Result<ManifestCache::Pointer> ManifestCache::get(const std::string& name) {
  ZARRFS_TRY(Pointer found, find_or_begin(name));
  if (found != nullptr) return found;
  Result<Pointer> made = read_(name);
  keep(name, made ? *made : nullptr);
  return made;
}

}  // namespace zarrfs
