// The manifests of a repository that were used last, by bytes. Thread-safe: of several threads that
// want one, one reads it, and no lock is held meanwhile.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/formats/icechunk/icechunk_files.h"

namespace zarrfs {

class ManifestCache {
 public:
  using Pointer = std::shared_ptr<const IcechunkManifest>;
  using Read = std::function<Result<Pointer>(const std::string& name)>;
  /// Keeps at most `most` bytes, but always the newest one.
  ManifestCache(std::size_t most, Read read) : most_(most), read_(std::move(read)) {}

  Result<Pointer> get(const std::string& name);
  /// Null where it is not in memory.
  Pointer find(const std::string& name);
  [[nodiscard]] std::size_t bytes();

 private:
  Pointer find_locked(const std::string& name) ZARRFS_REQUIRES(mutex_);
  /// Null once this thread is the one to read it.
  Result<Pointer> find_or_begin(const std::string& name);
  void keep(const std::string& name, Pointer manifest);

  const std::size_t most_;
  const Read read_;
  TableMutex mutex_;
  RankedCondition done_;
  std::list<std::pair<std::string, Pointer>> newest_first_ ZARRFS_GUARDED_BY(mutex_);
  std::set<std::string> reading_ ZARRFS_GUARDED_BY(mutex_);
  std::size_t bytes_ ZARRFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace zarrfs
