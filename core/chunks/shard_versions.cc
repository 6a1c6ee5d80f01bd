#include "core/chunks/shard_versions.h"

#include <algorithm>

namespace zarrfs {

void ShardVersions::make_room() {
  if (seen_.size() + written_.size() >= max_remembered_) forget_locked();
}

void ShardVersions::forget_locked() {
  seen_.clear();
  written_.clear();
  first_version_ = ++last_version_;
}

void ShardVersions::forget() {
  const std::lock_guard lock(mutex_);
  forget_locked();
}

ShardVersions::Seen& ShardVersions::seen(std::uint64_t shard) {
  const auto found = seen_.find(shard);
  if (found != seen_.end()) return found->second;
  make_room();
  Seen fresh;
  fresh.version = fresh.highest = first_version_;
  return seen_.emplace(shard, fresh).first->second;
}

ChunkVersion ShardVersions::version_of(std::uint64_t shard, std::uint64_t chunk,
                                       const ShardState& state) {
  const std::lock_guard lock(mutex_);
  Seen& one = seen(shard);
  if (!one.known || (one.digest != state.digest && one.next != state.digest)) {
    if (one.known) one.version = ++one.highest;
    last_version_ = std::max(last_version_, one.highest);
    one.known = true;
    one.digest = state.digest;
    one.next.reset();
    one.modified = state.modified;
  }
  const auto own = written_.find(chunk);
  if (own != written_.end() && own->second.shard_version == one.version) {
    return own->second.current;
  }
  return {one.version, one.modified};
}

ChunkVersion ShardVersions::version_of_draft(std::uint64_t shard, std::uint64_t chunk,
                                             const struct timespec& modified) {
  const std::lock_guard lock(mutex_);
  const auto own = written_.find(chunk);
  if (own != written_.end()) return own->second.current;
  return {seen(shard).version, modified};
}

void ShardVersions::written(std::uint64_t shard, std::uint64_t chunk,
                            const struct timespec& modified) {
  const std::lock_guard lock(mutex_);
  make_room();
  Seen& one = seen(shard);
  const auto own = written_.find(chunk);
  const bool again = own != written_.end() && own->second.shard_version == one.version;
  const std::uint64_t version = (again ? own->second.current.version : one.version) + 1;
  one.highest = std::max(one.highest, version);
  last_version_ = std::max(last_version_, one.highest);
  written_[chunk] = {one.version, {version, modified}};
}

void ShardVersions::replacing(std::uint64_t shard, std::uint64_t before, std::uint64_t after) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(shard);
  if (found == seen_.end() || !found->second.known || found->second.digest != before) return;
  found->second.next = after;
}

void ShardVersions::republished(std::uint64_t shard, std::uint64_t before, std::uint64_t after) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(shard);
  if (found == seen_.end() || !found->second.known || found->second.digest != before) return;
  found->second.digest = after;
  found->second.next.reset();
}

}  // namespace zarrfs
