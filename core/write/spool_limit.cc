#include "core/write/spool_limit.h"

#include <algorithm>
#include <string>
#include <vector>

namespace zarrfs {

std::uint64_t SpoolLimit::used() const {
  std::uint64_t bytes = 0;
  for (const DirtyPointer& shard : parts_.table.below("")) {
    const std::lock_guard state(shard->state_mutex);
    bytes += shard->live_bytes + shard->dead_bytes;
  }
  return bytes;
}

Result<void> SpoolLimit::admit(std::uint64_t bytes) {
  const std::uint64_t most = parts_.options.most_unpublished;
  if (most == 0 || (at_most_ += bytes) <= most) return {};
  const std::uint64_t now = used();
  at_most_ = now + bytes;
  return now + bytes <= most ? Result<void>{} : make_room(bytes);
}

Result<void> SpoolLimit::make_room(std::uint64_t bytes) {
  std::vector<DirtyPointer> shards = parts_.table.below("");
  const auto dirty_since = [](const DirtyPointer& shard) {
    const std::lock_guard state(shard->state_mutex);
    return shard->dirty_since;
  };
  std::stable_sort(shards.begin(), shards.end(),
                   [&](const auto& a, const auto& b) { return dirty_since(a) < dirty_since(b); });
  std::string why = "what is not published does not fit";
  for (const DirtyPointer& shard : shards) {
    files_.limit();
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    {
      const std::lock_guard state(shard->state_mutex);
      if (shard->failure) why = shard->failure->message;
      if (Clock::now() < shard->retry_at) continue;  // it has just failed, and waited long for that
    }
    const auto committed = committer_.commit(shard);
    if (!committed) why = committed.error().message;
    const std::uint64_t now = used();
    at_most_ = now + bytes;
    if (now + bytes <= parts_.options.most_unpublished) return {};
    if (!committed && committed.error().fault == Fault::kIo) break;  // the next would wait as long
  }
  return fail(Fault::kNoSpace, "spool_bytes is reached: " + why);
}

}  // namespace zarrfs
