#include "core/store/remote/object_table.h"

#include <algorithm>
#include <utility>

#include "core/base/path.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kMostObjects = std::uint64_t{1} << 18U;
constexpr std::uint64_t kMostListed = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLeast = 1000;
constexpr std::uint64_t kOfObject = 1024;  // bytes, with the prefixes and listings beside it
constexpr std::uint64_t kOfListed = 128;
constexpr std::size_t kMostChanges = 1000;  // of a listing

/// Half of `memory` is for one kind of entries, which take `each`.
std::size_t most_of(std::uint64_t memory, std::uint64_t each, std::uint64_t most) {
  return static_cast<std::size_t>(std::clamp(memory / 2 / each, kLeast, most));
}

}  // namespace

ObjectTable::ObjectTable(Clock::duration validity, Clock::duration grace, std::uint64_t memory)
    : validity_(validity),
      grace_(grace),
      most_objects_(most_of(memory, kOfObject, kMostObjects)),
      most_listed_(most_of(memory, kOfListed, kMostListed)) {}

std::optional<ObjectTable::Known> ObjectTable::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  const Stamped& stamped = found->second;
  return Known{stamped.info, !stamped.asked_again && fresh(stamped.at), usable(stamped.at)};
}

void ObjectTable::keep(const std::string& key, std::optional<ObjectInfo> info,
                       Clock::time_point asked) {
  const std::lock_guard lock(mutex_);
  const auto known = objects_.find(key);
  if (known != objects_.end() && asked < known->second.asked) return;
  if (objects_.size() >= most_objects_) objects_.clear();
  if (info) keep_prefixes_of(key);
  objects_[key] = {std::move(info), Clock::now(), asked};
}

void ObjectTable::made(const std::string& key, const ObjectInfo& info) {
  keep(key, info, Clock::now());
  changed(key);
}

/// The caller holds the lock.
void ObjectTable::keep_prefixes_of(const std::string& key) {
  if (prefixes_.size() >= most_objects_) prefixes_.clear();
  const auto now = Clock::now();
  for (std::string at = parent_path(key); !at.empty(); at = parent_path(at)) prefixes_[at] = now;
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
  if (const auto known = objects_.find(key); known != objects_.end()) {
    known->second.asked_again = true;
    known->second.asked = Clock::now();
  }
  for (std::string below = key; !below.empty();) {
    const std::string prefix = parent_path(below);
    if (const auto found = listings_.find(prefix); found != listings_.end()) {
      StampedListing& stamped = found->second;
      stamped.asked_again = true;
      stamped.changes.insert(below.substr(prefix.empty() ? 0 : prefix.size() + 1));
      if (stamped.changes.size() > kMostChanges) drop_listing(prefix);
    }
    below = prefix;
  }
}

/// The caller holds the lock.
void ObjectTable::drop_listing(const std::string& prefix) {
  const auto found = listings_.find(prefix);
  if (found == listings_.end()) return;
  if (*found->second.listing) listed_ -= (*found->second.listing)->size();
  listings_.erase(found);
}

ObjectTable::Listing ObjectTable::find_listing(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  const auto found = listings_.find(prefix);
  if (found == listings_.end() || found->second.asked_again) return nullptr;
  return fresh(found->second.at) ? found->second.listing : nullptr;
}

void ObjectTable::keep_listing(const std::string& prefix, Listing listing) {
  const std::size_t count = *listing ? (*listing)->size() : 0;
  const std::lock_guard lock(mutex_);
  if (listed_ + count > most_listed_ || listings_.size() >= most_objects_) {
    listings_.clear();
    listed_ = 0;
  }
  drop_listing(prefix);
  listed_ += count;
  if (count > 0) keep_prefixes_of(join_path(prefix, "any"));
  listings_[prefix] = {std::move(listing), Clock::now()};
}

ObjectTable::Listing ObjectTable::usable_listing(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  const auto found = listings_.find(prefix);
  if (found == listings_.end() || !usable(found->second.at)) return nullptr;
  const StampedListing& stamped = found->second;
  std::vector<Entry> entries = (*stamped.listing).value_or(std::vector<Entry>());
  for (const std::string& name : stamped.changes) {
    const std::string key = join_path(prefix, name);
    const auto object = objects_.find(key);
    const bool is_directory = prefixes_.contains(key);
    const bool gone = object != objects_.end() && !object->second.info && !is_directory;
    std::erase_if(entries, [&](const Entry& entry) { return gone && entry.name == name; });
    const auto add = [&](EntryKind kind) {
      const bool listed = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
        return entry.name == name && entry.kind == kind;
      });
      if (!listed) entries.push_back({name, kind});
    };
    if (object != objects_.end() && object->second.info) add(EntryKind::kFile);
    if (is_directory) add(EntryKind::kDirectory);
  }
  if (entries.empty()) return nullptr;
  return std::make_shared<const std::optional<std::vector<Entry>>>(std::move(entries));
}

bool ObjectTable::usable_prefix(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  const auto found = prefixes_.find(prefix);
  return found != prefixes_.end() && usable(found->second);
}

void ObjectTable::keep_prefix(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  keep_prefixes_of(join_path(prefix, "any"));
}

bool ObjectTable::has_many_below(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  return many_below_.contains(prefix);
}

void ObjectTable::note_many_below(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  if (many_below_.size() >= most_objects_) many_below_.clear();
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
