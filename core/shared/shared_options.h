// What a writer of a shared store is told.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

struct SharedOptions {
  /// After how long without a sign of life a writer is taken for dead. Being wrong costs it time,
  /// and loses nothing.
  std::chrono::milliseconds lease{30'000};
  /// For how long a machine of the file system may answer from what it has seen.
  std::chrono::milliseconds caches{0};
  /// One line for what a user should know; `error`: of what went wrong.
  std::function<void(bool error, const std::string& line)> say = [](bool, const std::string&) {};
};

/// 60 s on a file system of several machines, 0 on one of one machine.
Result<std::chrono::milliseconds> usual_caches(Store& store);

}  // namespace zarrfs
