// Removes temporary files beside shards that nobody uses any more: what another writer was making
// when it was killed, and what stayed behind where a race was lost. Local stores only: at a server
// successors lie in the spool, which a writer clears when it begins. Thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/base/lock_order.h"
#include "core/write/write_parts.h"

namespace zarrfs {

class LeftFiles {
 public:
  explicit LeftFiles(WriteParts& parts) : parts_(parts) {}

  /// After a commit of a shard in `directory`: the first one there looks, and the first after
  /// look_again().
  void remove_from(const std::string& directory);
  /// Something may have been left.
  void look_again();

 private:
  bool is_first(const std::string& directory);
  Result<bool> may_remove(const std::string& directory);
  Result<int> remove_unused(const std::string& directory);

  WriteParts& parts_;
  TableMutex mutex_;
  std::set<std::uint64_t> seen_ ZARRFS_GUARDED_BY(mutex_);  ///< Hashes of directories; bounded.
};

}  // namespace zarrfs
