// Files that belong to a store with a checksum of each (StoreTraits::checksums): checks every one
// once, however many chunks are read of it. Thread-safe.
#pragma once

#include <string>
#include <unordered_set>

#include "core/base/lock_order.h"
#include "core/store/store.h"

namespace zarrfs::tools {

class WholeFiles {
 public:
  explicit WholeFiles(const Store& store) : checksums_(store.traits().checksums) {}
  /// kDamaged where the stored file that `file` is, or is made of, is not the one that was stored.
  /// Does nothing where it was checked before.
  Result<void> check(const File& file);

 private:
  const bool checksums_;
  TableMutex mutex_;
  std::unordered_set<std::string> checked_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs::tools
