#include "core/log/parked_writes.h"

#include <algorithm>
#include <iterator>

namespace zarrfs {

std::vector<ParkedWrite> ParkedWrites::all() const {
  const std::lock_guard lock(mutex_);
  return parked_;
}

void ParkedWrites::add(const LoggedSuccessor& logged, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  parked_.push_back({logged, reason});
  count_ = parked_.size();
}

std::vector<ParkedWrite> ParkedWrites::take(
    const std::function<bool(const LogRecord& open)>& wanted) {
  std::vector<ParkedWrite> taken;
  const std::lock_guard lock(mutex_);
  const auto others =
      std::stable_partition(parked_.begin(), parked_.end(),
                            [&](const ParkedWrite& one) { return !wanted(one.logged.open); });
  std::move(others, parked_.end(), std::back_inserter(taken));
  parked_.erase(others, parked_.end());
  count_ = parked_.size();
  return taken;
}

}  // namespace zarrfs
