// Tells which directories of a store on a local disk have changed, by inotify(7). Told are changes
// by names in a watched directory and in those above it; not writes through a shared mapping, by
// another hard link's name, or of another machine, so only file systems of one machine are watched.
//
// All but take() and clear() may be called by several threads at once, with one that waits and
// calls these.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"

namespace zarrfs {

/// Whether the path is the directory's, or of something below it; "" is above all.
bool lies_in(const std::string& path, const std::string& directory);

class StoreWatch {
 public:
  static constexpr std::size_t kMostDirectories = 4096;

  /// Of the store in the directory `root`. kUnsupported where that lies on a file system whose
  /// changes cannot all be seen.
  static Result<std::shared_ptr<StoreWatch>> of(const std::string& root,
                                                std::size_t most = kMostDirectories);

  /// Whether from now on each change in `directory`, and in those above it, is told. No symbolic
  /// link may lead there.
  bool watch(const std::string& directory);
  /// The same where it, or some of those above it, may be absent: that one comes is told then.
  bool watch_what_is_there(const std::string& directory);
  /// Whether a plain file of one name stands at `path`.
  [[nodiscard]] bool holds_plain(const std::string& path) const;
  /// Whether that stands there, or nothing.
  [[nodiscard]] bool holds_plain_or_nothing(const std::string& path) const;
  /// Whether take() has something: all changes were taken that were done before, if not.
  [[nodiscard]] bool has_news() const;
  /// What changed since the last call: paths, each with all that lies below it; "" is everything,
  /// also where more happened than could be told. Never waits. A directory that is another one now
  /// is watched no longer.
  std::vector<std::string> take();
  /// Watches nothing any more.
  void clear();
  /// Readable while take() has something.
  [[nodiscard]] int descriptor() const { return events_.get(); }
  [[nodiscard]] std::size_t directories() const;
  [[nodiscard]] bool full() const { return directories() >= most_; }
  [[nodiscard]] bool half_full() const { return directories() >= most_ / 2; }

 private:
  StoreWatch(Fd root, Fd events, std::size_t most)
      : root_(std::move(root)), events_(std::move(events)), most_(most) {}
  enum class Watched { kYes, kAbsent, kNo };
  /// Those above it first, down to the first one that is absent or cannot be watched.
  Watched watch_down_to(const std::string& directory);
  Watched watch_one(const std::string& directory) ZARRFS_REQUIRES(mutex_);
  void drop(const std::string& directory) ZARRFS_REQUIRES(mutex_);
  /// The path that the event is about; nothing of it where its directory is watched no longer.
  void note(int watched, std::uint32_t what, const char* name, std::vector<std::string>& changed)
      ZARRFS_REQUIRES(mutex_);

  const Fd root_;
  const Fd events_;
  const std::size_t most_;
  mutable RankedMutex<LockRank::kStore> mutex_;
  /// By directory, and the same by mark.
  std::map<std::string, int> watched_ ZARRFS_GUARDED_BY(mutex_);
  std::unordered_map<int, std::string> by_mark_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
