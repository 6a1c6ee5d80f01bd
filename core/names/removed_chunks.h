// Chunks that a program has just removed, and that the view shows nevertheless (made up, see
// `materialise=`, or full of Presentation::removed_element): the program finds them absent, as tar
// does, which removes what is in its way and makes it then. Others find what such a chunk holds.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <string>

#include "core/base/lock_order.h"

namespace zarrfs {

class RemovedChunks {
 public:
  /// `key`: of the chunk, as chunk_key() has it. Task 0 is nobody.
  void add(pid_t task, const std::string& key);
  /// The chunk was written: everybody finds it.
  void forget(const std::string& key);
  /// Whether `task` removed it, a short while ago.
  [[nodiscard]] bool has(pid_t task, const std::string& key) const;

 private:
  struct Removed {
    pid_t task = 0;
    std::string key;
    std::chrono::steady_clock::time_point since;
  };

  mutable TableMutex mutex_;
  std::deque<Removed> removed_;  ///< The oldest first; a few.
};

}  // namespace zarrfs
