// Who calls the chunks of an array by the names that are not listed: each chunk has two, a flat one
// ("0.1") and one in directories ("0/1"). A program that brings a tree and then removes what it
// does not know (rsync --delete-after) takes the listed name for another file, and would remove the
// chunk that it brought. The kernel keeps no such name, so each use is asked for. Thread-safe;
// bounded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_set>

#include "core/base/lock_order.h"

namespace zarrfs {

class NamesInUse {
 public:
  /// `task`, a thread, called a chunk of the array at `path` by another name than is listed;
  /// `in_directories`: the listed ones are in directories. Task 0 is nobody.
  void called_otherwise(pid_t task, const std::string& path, bool in_directories);
  /// Whether it did, while names were listed so.
  [[nodiscard]] bool calls_otherwise(pid_t task, const std::string& path,
                                     bool in_directories) const;

 private:
  mutable TableMutex mutex_;
  std::unordered_set<std::uint64_t> calls_;   ///< Digests of thread and array.
  std::unordered_set<std::uint64_t> before_;  ///< The same, of longer ago.
};

}  // namespace zarrfs
