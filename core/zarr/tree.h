// The nodes of a store: finds groups and arrays below a path. Source: Zarr v3 core ("Storage").
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/path.h"
#include "core/metadata/metadata.h"
#include "core/store/store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// What stands at one path of the store.
struct Node {
  enum class Kind {
    kGroup,
    kArray,
    kDamaged,      ///< zarr.json cannot be parsed or read; `error` says why.
    kUnsupported,  ///< A node with a feature that zarrfs does not know; `error` names it.
    kPlain,        ///< A directory without zarr.json.
    kFile,         ///< Not a directory.
    kAbsent,
  };
  Kind kind = Kind::kAbsent;
  std::shared_ptr<const GroupMetadata> group;
  std::shared_ptr<const ArrayMetadata> array;
  std::shared_ptr<const Layout> layout;  ///< Of arrays; null where `error` says why there is none
                                         ///< (then kUnsupported or kDamaged).
  FileIdentity document;                 ///< Of zarr.json.
  struct stat status {};  ///< Of zarr.json, or of the file or directory where there is none.
  Error error;
};

/// Loads the node at `path`. An Error says that the storage cannot answer for `path` at all; a
/// zarr.json that is there but cannot be read makes a kDamaged node.
Result<Node> load_node(Store& store, const std::string& path);

/// The directories that walk_nodes enters below the first: a circle of links must end somewhere.
inline constexpr std::size_t kMaxDepth = 64;

/// Visits every node below `path` (itself included), parents before children, siblings by name
/// (bytewise). Arrays are not descended into; plain directories are, except below damaged and
/// unsupported nodes, where they hold chunks. `visit` returns false to leave out a subtree.
/// What cannot be entered (kMaxDepth, a link that leads back, no permission to list it) is visited
/// as a kDamaged node; only a lack of memory or descriptors ends the walk with an Error.
Result<void> walk_nodes(
    Store& store, const std::string& path,
    const std::function<bool(const std::string& path, const Node& node)>& visit);

/// Whether `path` is the root of a store of the v3 draft of 2020 to 2022, with its `meta/root`,
/// which zarrfs does not read.
Result<bool> is_draft_v3(Store& store, const std::string& path);

/// Whether `path` is `top` or lies below it; everything is at or below "".
bool is_at_or_below(const std::string& path, const std::string& top);

/// What `path` is called once the directory `from` is called `to`.
std::string moved_path(const std::string& path, const std::string& from, const std::string& to);

}  // namespace zarrfs
