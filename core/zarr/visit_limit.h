// Limits how often a walk over a store visits a directory that it reaches by links. A few levels of
// a few links each make more paths to one directory than can ever be walked.
// For one thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "core/store/store.h"

namespace zarrfs {

class VisitLimit {
 public:
  /// Paths by which a walk enters one directory.
  static constexpr std::size_t kMost = 16;

  /// kLoop, naming `path`, if kMost other paths have led to the directory with this status.
  Result<void> enter(const struct stat& status, const std::string& path);
  /// The same for the directory at `path` of the store.
  Result<void> enter(Store& store, const std::string& path);

 private:
  std::map<std::pair<dev_t, ino_t>, std::size_t> visits_;
};

}  // namespace zarrfs
