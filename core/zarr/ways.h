// How often a walk over a store has come to each directory: links make many ways to few
// directories, and a few levels of a few links each more than can ever be walked.
// For one thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "core/store/store.h"

namespace zarrfs {

class Ways {
 public:
  /// By how many ways a directory is entered.
  static constexpr std::size_t kMost = 16;

  /// kLoop, naming `path`, where kMost other ways have led to the directory with this status.
  Result<void> enter(const struct stat& status, const std::string& path);
  /// The same of what is at `path` of the store.
  Result<void> enter(Store& store, const std::string& path);

 private:
  std::map<std::pair<dev_t, ino_t>, std::size_t> ways_;
};

}  // namespace zarrfs
