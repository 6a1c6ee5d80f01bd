// The zarr.json of nodes in the store, as they are replaced and removed: by a rename, and durable
// before a change is acknowledged. Consolidated metadata above a node, which readers would believe,
// goes first. What the documents say is the caller's business. Thread-safe; one at a time.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

class DocumentStore {
 public:
  explicit DocumentStore(Store& store) : store_(store) {}

  /// `document` is that of the node at `path` from now on. `before`: which zarr.json it was made
  /// from, zeros where there was none; kStale where the store can tell that another writer has
  /// replaced that.
  Result<void> put(const std::string& path, const Json& document, const FileIdentity& before);
  /// The array's document with `change` made to it. kStale where there is no array any more.
  Result<void> edit_array(const std::string& path, const std::function<void(Json&)>& change);
  /// Removes the document only.
  Result<void> remove(const std::string& path);
  /// Removes the node with all that is stored below it.
  Result<void> remove_node(const std::string& path);
  /// `rename` moves the node.
  Result<void> move(const std::string& from, const std::string& to,
                    const std::function<Result<void>()>& rename);

 private:
  Result<void> put_locked(const std::string& path, const Json& document, const FileIdentity& before)
      ZARRFS_REQUIRES(mutex_);
  Result<void> replace(const std::string& path, const Json& document, const FileIdentity& expected);
  Result<void> drop_consolidated_above(const std::string& path) ZARRFS_REQUIRES(mutex_);
  Result<void> remove_tree(const std::string& path);

  Store& store_;
  /// Between reading a document and replacing it.
  Ranked<std::mutex, LockRank::kDocument> mutex_;
};

}  // namespace zarrfs
