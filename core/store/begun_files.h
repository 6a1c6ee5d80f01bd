// Files that were begun under a path and are not put there yet: they have no name, and so are gone
// with this process. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

class BegunFiles {
 public:
  /// `folder`: where their bytes lie.
  explicit BegunFiles(std::string folder) : folder_(std::move(folder)) {}

  /// Begins the file for `path`, anew where there is one; `name` is what messages call it.
  Result<std::unique_ptr<NewFile>> create(const std::string& path, const std::string& name);
  /// The file for `path`, which is forgotten; kInvalid where none was begun.
  Result<Fd> take(const std::string& path);

 private:
  const std::string folder_;
  TableMutex mutex_;
  std::map<std::string, Fd> files_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
