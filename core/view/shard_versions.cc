#include "core/view/shard_versions.h"

#include <algorithm>

namespace zarrfs {

std::uint64_t ShardVersions::version_of(std::uint64_t number, std::uint64_t state) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(number);
  if (found != seen_.end()) {
    Seen& seen = found->second;
    if (seen.state != state) {
      seen.state = state;
      ++seen.version;
      last_version_ = std::max(last_version_, seen.version);
    }
    return seen.version;
  }
  if (seen_.size() >= max_remembered_) {
    seen_.clear();
    first_version_ = ++last_version_;
  }
  seen_.emplace(number, Seen{state, first_version_});
  return first_version_;
}

}  // namespace zarrfs
