// Programs that make plain files of the store or write to them, and nodes that are made around such
// files (orphan_chunks.h): what is still being written cannot be parked, and a name that
// was looked up before the array was there must not be made after it. Nothing here waits for a
// program: kBusy says that somebody has to come again. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "core/base/lock_order.h"
#include "core/base/result.h"

namespace zarrfs {

using CreationMutex = Ranked<std::shared_timed_mutex, LockRank::kCreation>;
/// See CreationGate::shared and exclusive_creation.
using SharedCreation = std::shared_lock<CreationMutex>;
using ExclusiveCreation = std::unique_lock<CreationMutex>;

class CreationGate {
 public:
  /// For requests that look a name up and make it: no node is made while this lives. Waits while a
  /// node is made, and while exclusive_creation waits.
  SharedCreation shared() {
    const std::lock_guard turn(turnstile_);
    return SharedCreation(creation_mutex_);
  }

  /// The file at `path` is going to be opened for writing. Returns what closed() asks for; where it
  /// is a new one, kBusy for moments in which a node around it waits for other writers to come to
  /// their end.
  Result<std::uint64_t> opened(const std::string& path, bool is_new);
  void closed(std::uint64_t number);
  /// The directory at `from` is now at `to`, with all below it.
  void moved(const std::string& from, const std::string& to);

  /// For requests that make a node at `path`: no name is made while this lives. Waits for those
  /// that hold shared(), while others that come have to wait as well, so that it has its turn
  /// however many they are; kBusy where one of them takes long, as at a server that does not
  /// answer. kBusy as well while a file that may be a chunk or the attributes of the node is open
  /// for writing.
  Result<ExclusiveCreation> exclusive_creation(const std::string& path);
  /// Whether exclusive_creation(path) was kBusy a moment ago.
  [[nodiscard]] bool node_waits(const std::string& path) const;
  /// Whether a node that is to be made around `path` waits.
  [[nodiscard]] bool node_waits_around(const std::string& path) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirstForNames{250};
  /// Not held where it would have to wait for long.
  ExclusiveCreation when_no_name_is_looked_up();
  void node_came(const std::string& path, bool made);
  [[nodiscard]] bool any_part_of(const std::string& path) const;

  RankedMutex<LockRank::kCreationTurn> turnstile_;
  // The turnstile's:
  std::chrono::milliseconds for_names_ = kFirstForNames;  ///< How long the next one waits.
  Clock::time_point gave_up_{};                           ///< When one waited for lookups in vain.
  CreationMutex creation_mutex_;
  mutable TableMutex mutex_;
  std::map<std::uint64_t, std::string> open_;
  /// Nodes that wait, and since when new writers are kept away; of those that gave up, for a while.
  std::map<std::string, Clock::time_point> waiting_;
  std::uint64_t next_ = 0;
};

}  // namespace zarrfs
