// By which of their two names programs call the chunks of an array: flat ("0.1") or in directories
// ("0/1"). A program that brings a tree and then removes what it does not know (rsync
// --delete-after) takes the other name for another file, and would remove the chunk that it
// brought. Thread-safe; bounded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/base/lock_order.h"

namespace zarrfs {

class NamesInUse {
 public:
  /// `task` called a chunk of the array at `path` by a name in directories, or a flat one. Task 0
  /// is nobody.
  void called(pid_t task, const std::string& path, bool in_directories);
  /// Whether `task` called chunks of the array so.
  [[nodiscard]] bool calls(pid_t task, const std::string& path, bool in_directories) const;

 private:
  using Calls = std::unordered_map<std::uint64_t, std::uint8_t>;

  mutable TableMutex mutex_;
  Calls calls_;   ///< Bits, of a task and an array.
  Calls before_;  ///< The same, of longer ago.
};

}  // namespace zarrfs
