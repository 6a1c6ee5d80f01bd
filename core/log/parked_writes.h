// What an earlier writer left of shards that cannot be taken over, because of their arrays: it
// waits until the array can be read. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/base/lock_order.h"
#include "core/log/log.h"

namespace zarrfs {

struct ParkedWrite {
  LoggedSuccessor logged;
  std::string reason;
};

class ParkedWrites {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::vector<ParkedWrite> all() const;
  void add(const LoggedSuccessor& logged, const std::string& reason);
  /// Takes out those whose kOpen record is `wanted`.
  std::vector<ParkedWrite> take(const std::function<bool(const LogRecord& open)>& wanted);

 private:
  mutable TableMutex mutex_;
  std::vector<ParkedWrite> parked_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace zarrfs
