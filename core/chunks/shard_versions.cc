#include "core/chunks/shard_versions.h"

#include "core/base/hash.h"

namespace zarrfs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kBytesKept = 160;  // of a shard or a chunk, with the nodes of its tables

struct timespec time_of(std::int64_t nanoseconds) {
  struct timespec time {};
  time.tv_sec = nanoseconds / kSecond;
  time.tv_nsec = nanoseconds % kSecond;
  return time;
}

}  // namespace

std::uint64_t digest_of(const FileIdentity& identity) {
  if (identity == FileIdentity{}) return 0;
  return mix_numbers(mix_numbers(identity.device, identity.inode),
                     mix_numbers(identity.size, static_cast<std::uint64_t>(identity.mtime_ns)));
}

std::size_t ShardVersions::Hash::operator()(const Key& key) const {
  return mix_numbers(key.array, key.cell);
}

std::uint64_t ShardVersions::version_by_digest(const Key& shard, std::uint64_t digest) const {
  const std::uint32_t epoch = epochs_[Hash()(shard) % kEpochs].load();
  return mix_numbers(digest, epoch);
}

ShardVersions::Shards::iterator ShardVersions::find(const Key& shard) {
  return kept() == 0 ? shards_.end() : shards_.find(shard);
}

/// What is known of it is lost, so no version that was given by a digest may come back.
void ShardVersions::drop(Shards::iterator shard) {
  ++epochs_[Hash()(shard->first) % kEpochs];
  kept_ -= 1 + shard->second.written.size();
  uses_.erase(shard->second.use);
  shards_.erase(shard);
}

void ShardVersions::make_room(const Shard& keep) {
  while (kept() > most_) {
    const auto oldest = shards_.find(uses_.back());
    if (&oldest->second == &keep) return;  // it is alone
    drop(oldest);
  }
}

ShardVersions::Shard& ShardVersions::find_or_make(const Key& shard) {
  const auto [place, fresh] = shards_.try_emplace(shard);
  Shard& one = place->second;
  if (fresh) {
    uses_.push_front(shard);
    one.use = uses_.begin();
    ++kept_;
  } else {
    uses_.splice(uses_.begin(), uses_, one.use);
  }
  return one;
}

void ShardVersions::set(Shard& shard, const Key& key, const ShardState& state) const {
  shard.known = true;
  shard.digest = state.digest;
  shard.version = version_by_digest(key, state.digest);
  shard.modified = state.modified;
}

ChunkVersion ShardVersions::version_of(Key shard, std::uint64_t chunk, const ShardState& state) {
  const auto by_digest = [&] {
    return ChunkVersion{version_by_digest(shard, state.digest), state.modified};
  };
  if (kept() == 0) return by_digest();
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return by_digest();
  Shard& one = found->second;
  if (!one.known) set(one, shard, state);
  if (one.digest != state.digest && one.next != state.digest) {
    drop(found);
    return by_digest();
  }
  const auto own = one.written.find(chunk);
  if (own != one.written.end()) return own->second;
  return {one.version, one.modified};
}

ChunkVersion ShardVersions::version_of_draft(Key shard, std::uint64_t chunk,
                                             const struct timespec& modified) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(shard); found != shards_.end()) {
    const auto own = found->second.written.find(chunk);
    if (own != found->second.written.end()) return own->second;
  }
  const auto time = static_cast<std::uint64_t>(modified.tv_sec * kSecond + modified.tv_nsec);
  return {version_by_digest(shard, mix_numbers(time, chunk)), modified};
}

std::size_t ShardVersions::counter_of(const Key& shard, std::uint64_t chunk) {
  return mix_numbers(Hash()(shard), chunk) % kEpochs;
}

std::uint32_t ShardVersions::writes_of(Key shard, std::uint64_t chunk) const {
  return writes_[counter_of(shard, chunk)].load();
}

void ShardVersions::written(Key shard, std::uint64_t chunk, const struct timespec& modified) {
  const std::lock_guard lock(mutex_);
  ++writes_[counter_of(shard, chunk)];
  Shard& one = find_or_make(shard);
  const auto [own, fresh] = one.written.insert_or_assign(chunk, ChunkVersion{++written_, modified});
  if (fresh) ++kept_;
  if (kept() <= most_) return;
  make_room(one);
  // So many chunks of one shard: those that were written before are as those of another file.
  if (kept() > most_) drop(shards_.find(shard));
}

void ShardVersions::replacing(Key shard, const FileIdentity& before, const FileIdentity& after,
                              const Chunks& chunks) {
  const std::lock_guard lock(mutex_);
  const auto found = find(shard);
  if (found == shards_.end()) return;
  Shard& one = found->second;
  for (const auto& [chunk, modified] : chunks) {
    const bool fresh = one.written.try_emplace(chunk, ChunkVersion{written_ + 1, modified}).second;
    if (!fresh) continue;
    ++written_;
    ++kept_;
  }
  make_room(one);
  if (kept() > most_) return drop(found);
  if (!one.known) set(one, shard, {digest_of(before), time_of(before.mtime_ns)});
  if (one.digest == digest_of(before)) one.next = digest_of(after);
}

void ShardVersions::republished(Key shard, const FileIdentity& before, const FileIdentity& after) {
  const std::lock_guard lock(mutex_);
  const auto found = find(shard);
  if (found == shards_.end()) return;
  Shard& one = found->second;
  if (!one.known || one.digest != digest_of(before)) return;
  one.digest = digest_of(after);
  one.next.reset();
}

std::uint64_t ShardVersions::bytes() const { return kept() * kBytesKept + sizeof(*this); }

}  // namespace zarrfs
