// Room on the storage for the largest commit that is still to come: a file without a use of its
// own,
// `.zarrfs/.zarrfs-next-...`, to which the file system has given blocks. Commits that find the
// storage full use it in turn. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/lock_order.h"
#include "core/store/store.h"

namespace zarrfs {

class Reserve {
 public:
  /// `complain` is told, once, where the file system cannot reserve room.
  Reserve(std::shared_ptr<Store> store, std::function<void(const std::string&)> complain)
      : store_(std::move(store)), complain_(std::move(complain)) {}
  ~Reserve() { release(); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  /// At least `bytes` are reserved when it returns, where the file system can do that; kNoSpace or
  /// kQuota where it has no room for them.
  Result<void> hold(std::uint64_t bytes);
  /// Gives the room back to the storage. Returns how much it was.
  std::uint64_t release();

 private:
  Result<void> extend_locked(std::uint64_t bytes) ZARRFS_REQUIRES(mutex_);

  std::shared_ptr<Store> store_;
  std::function<void(const std::string&)> complain_;
  RankedMutex<LockRank::kReserve> mutex_;
  std::string path_ ZARRFS_GUARDED_BY(mutex_);
  std::unique_ptr<NewFile> file_ ZARRFS_GUARDED_BY(mutex_);
  std::uint64_t held_ ZARRFS_GUARDED_BY(mutex_) = 0;
  bool possible_ ZARRFS_GUARDED_BY(mutex_) = true;  ///< Until the storage says that it is not.
};

}  // namespace zarrfs
