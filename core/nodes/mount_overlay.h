// Names that are so in this mount only, and not in the store: directories of chunks that hold none
// yet, documents that a program removed on the way to removing their node, and which documents were
// written to nodes that were made here. Such a node looks as it would in a plain directory: what
// the view makes up (`.zattrs` without attributes, `.zmetadata`, the document of a group that has
// none) comes into sight with the next mount. A program that copies a store, and so creates each
// file of it, would otherwise find files there that it has not made yet.
//
// Thread-safe. Paths are from the root of the store.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/lock_order.h"

namespace zarrfs {

class MountOverlay {
 public:
  /// A directory of chunks.
  void make_chunk_directory(const std::string& path);
  [[nodiscard]] bool has_chunk_directory(const std::string& path) const;
  /// Names of the directories of chunks that were made in the directory `path`.
  [[nodiscard]] std::vector<std::string> chunk_directories_in(const std::string& path) const;

  /// Another directory, which may become a node.
  void make_directory(const std::string& path);

  void remove_document(const std::string& directory, const std::string& name);
  void wrote_document(const std::string& directory, const std::string& name);
  [[nodiscard]] bool is_removed(const std::string& directory, const std::string& name) const;
  /// Whether a document that the view would show is not to be seen. `synthesized`: the store has
  /// nothing for it to show.
  [[nodiscard]] bool hides(const std::string& directory, const std::string& name,
                           bool synthesized) const;
  /// Whether the node's own document was removed, which the store still has.
  [[nodiscard]] bool is_pending_delete(const std::string& directory) const;
  /// All directories of which that is so. Removed documents are in sight again.
  std::vector<std::string> take_pending_deletes();

  /// The directory at `path` is gone, with all below it.
  void forget(const std::string& path);
  /// It is at `to` now.
  void moved(const std::string& from, const std::string& to);

 private:
  using Documents = std::map<std::string, std::set<std::string>>;  // names by directory

  mutable TableMutex mutex_;
  std::set<std::string> chunk_directories_;
  Documents removed_;
  Documents written_;  // in each directory that was made in this mount
};

}  // namespace zarrfs
