#include "core/store/remote/object_table.h"

#include <utility>

namespace zarrfs {
namespace {

constexpr std::size_t kMostObjects = std::size_t{1} << 18U;
constexpr std::size_t kMostListed = std::size_t{1} << 20U;

}  // namespace

std::optional<ObjectTable::Known> ObjectTable::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  return Known{found->second.info, fresh(found->second.at)};
}

void ObjectTable::keep(const std::string& key, std::optional<ObjectInfo> info) {
  const std::lock_guard lock(mutex_);
  if (objects_.size() >= kMostObjects) objects_.clear();
  objects_[key] = {std::move(info), Clock::now()};
}

void ObjectTable::confirm(const std::string& key, const ObjectInfo& info) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end() || !found->second.info || !(*found->second.info == info)) return;
  found->second.at = Clock::now();
}

void ObjectTable::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  objects_.erase(key);
}

void ObjectTable::changed(const std::string& key) {
  const std::lock_guard lock(mutex_);
  objects_.erase(key);
  for (std::string at = key; !at.empty();) {
    const std::size_t slash = at.rfind('/');
    at.resize(slash == std::string::npos ? 0 : slash);
    const auto found = listings_.find(at);
    if (found == listings_.end()) continue;
    if (*found->second.listing) listed_ -= (*found->second.listing)->size();
    listings_.erase(found);
  }
}

ObjectTable::Listing ObjectTable::find_listing(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  const auto found = listings_.find(prefix);
  return found != listings_.end() && fresh(found->second.at) ? found->second.listing : nullptr;
}

void ObjectTable::keep_listing(const std::string& prefix, Listing listing) {
  const std::size_t count = *listing ? (*listing)->size() : 0;
  const std::lock_guard lock(mutex_);
  if (listed_ + count > kMostListed || listings_.size() >= kMostObjects) {
    listings_.clear();
    listed_ = 0;
  }
  const auto before = listings_.find(prefix);
  if (before != listings_.end() && *before->second.listing) {
    listed_ -= (*before->second.listing)->size();
  }
  listed_ += count;
  listings_[prefix] = {std::move(listing), Clock::now()};
}

bool ObjectTable::has_many_below(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  return many_below_.contains(prefix);
}

void ObjectTable::note_many_below(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  if (many_below_.size() >= kMostObjects) many_below_.clear();
  many_below_.insert(prefix);
}

ObjectTable::Turn::Turn(ObjectTable& table, std::string key) : table_(table), key_(std::move(key)) {
  std::unique_lock lock(table_.mutex_);
  table_.answered_.wait(lock, [&] { return !table_.asked_.contains(key_); });
  table_.asked_.insert(key_);
}

std::unique_ptr<ObjectTable::Turn> ObjectTable::Turn::take(ObjectTable& table, std::string key) {
  {
    const std::lock_guard lock(table.mutex_);
    if (!table.asked_.insert(key).second) return nullptr;
  }
  return std::unique_ptr<Turn>(new Turn(table, std::move(key), Taken{}));
}

ObjectTable::Turn::~Turn() {
  {
    const std::lock_guard lock(table_.mutex_);
    table_.asked_.erase(key_);
  }
  table_.answered_.notify_all();
}

}  // namespace zarrfs
