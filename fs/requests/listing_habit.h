// Whether listings should come with the status of files (READDIRPLUS). The kernel always asks for
// it at the start of a directory, and each costs a look into the shard's index and an inode in the
// kernel: wasted on programs that want names only, as find does. In a large directory the kernel
// itself notices; small ones, as those of chunks with "/" in their keys, end before it does.
//
// So directories are listed without. Where a file of one is then looked up by its name, the next
// kPeriod ones are listed with, and then one without again, to see whether that is still so.
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "core/view/view.h"

namespace zarrfs {

class ListingHabit {
 public:
  /// At the start of a listing of `directory`.
  bool wants_status(NodeId directory) {
    const std::lock_guard lock(mutex_);
    if (listings_left_ > 0) {
      --listings_left_;
      return true;
    }
    remember(directory);
    return false;
  }

  /// Whether a listing that begins now would come without.
  bool names_suffice() {
    const std::lock_guard lock(mutex_);
    return listings_left_ == 0;
  }

  /// The kernel lists `directory` by the names that it has kept.
  void kept(NodeId directory) {
    const std::lock_guard lock(mutex_);
    remember(directory);
  }

  /// A file in `directory` was looked up by its name.
  void looked_up(NodeId directory) {
    const std::lock_guard lock(mutex_);
    const auto listed = std::find(without_.begin(), without_.end(), directory);
    if (listed == without_.end()) return;
    *listed = 0;
    listings_left_ = kPeriod;
  }

 private:
  static constexpr std::size_t kRemembered = 16;  ///< For as many walks side by side.
  static constexpr unsigned kPeriod = 64;

  void remember(NodeId directory) {
    without_.at(next_) = directory;
    next_ = (next_ + 1) % kRemembered;
  }

  std::mutex mutex_;
  std::array<NodeId, kRemembered> without_{};  ///< Listed without lately; guarded by mutex_.
  std::size_t next_ = 0;                       ///< Guarded by mutex_.
  unsigned listings_left_ = 0;                 ///< That come with the status; guarded by mutex_.
};

}  // namespace zarrfs
