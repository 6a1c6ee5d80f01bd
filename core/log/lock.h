// One writer a store: an advisory lock on the store's directory `.zarrfs`, which only its owner may
// enter. A lock on the root would be anybody's who may read the store.
//
// A node of a store may be written as a store of its own, and two of them at a time. So whoever
// writes shares the locks of the nodes above: a writer of one of those, who would have its lock
// alone, and a writer of what lies below exclude each other. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/fd.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

/// The lock of a store, held as long as this lives. Its end removes `.zarrfs`, if that is empty and
/// nobody shares it.
class StoreLock {
 public:
  StoreLock() = default;
  StoreLock(std::shared_ptr<Store> store, Fd own, Fd root, std::vector<StoreLock> above,
            bool has_all_above)
      : store_(std::move(store)),
        own_(std::move(own)),
        root_(std::move(root)),
        above_(std::move(above)),
        has_all_above_(has_all_above) {}
  StoreLock(StoreLock&&) noexcept = default;
  StoreLock& operator=(StoreLock&&) noexcept = default;
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  ~StoreLock();
  [[nodiscard]] int descriptor() const { return own_.get(); }
  [[nodiscard]] std::string name() const { return store_->name(); }
  /// Lets others that share the store have it, too.
  void share();
  /// Whether no directory above was left out: then nobody else writes within the store, nor left
  /// chunks unpublished, but who writes a node below that has `.zarrfs`.
  [[nodiscard]] bool has_all_above() const { return has_all_above_; }

 private:
  std::shared_ptr<Store> store_;
  Fd own_;
  Fd root_;  ///< Shared, where nobody has it alone: zarrfs 0.1 locked the root.
  std::vector<StoreLock> above_;  ///< Shared: of the nodes that the store lies in.
  bool has_all_above_ = false;
};

/// As lock_store, for one of several writers: alone, until StoreLock::share, where there is no
/// epoch yet that keeps out who writes to the store alone, or to a node of it. kBusy where such a
/// one is, and where the store is a node of another one: all that share it have to share that.
Result<StoreLock> share_store(std::shared_ptr<Store> store);

/// Takes the store's lock, and makes `.zarrfs` for it. kBusy, naming the holder's process where the
/// system knows it, where another zarrfs has it, or writes to a store that this one lies in, or has
/// left chunks of that unpublished; kDenied where `.zarrfs` is another user's. A directory above
/// that is another user's is left out.
Result<StoreLock> lock_store(std::shared_ptr<Store> store);

}  // namespace zarrfs
