// What stands at one path of the store and how it is shown: loaded once, used by every request
// until the store's document changes. Immutable once built (its parts with state of their own are
// thread-safe).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/chunks/array_view.h"
#include "core/present/level_names.h"
#include "core/present/profile.h"
#include "core/store/store.h"
#include "core/view/node_numbers.h"
#include "core/zarr/tree.h"

namespace zarrfs {

/// A document of a node: its name and text.
struct ShownDocument {
  std::string name;
  std::shared_ptr<const Bytes> text;
};

/// What a document says now, and since when; no text where there is no such document.
struct DocumentText {
  std::shared_ptr<const Bytes> text;
  timespec modified{};
};

struct NodeState {
  enum class Kind {
    kGroup,
    kArray,
    kImplicitGroup,  ///< A directory without zarr.json that leads to a node.
    kPassThrough,    ///< A directory that leads to none.
    kDamaged,        ///< Listed; its documents and chunks answer `error`.
    kHidden,         ///< Not shown: `error` says why.
    kAbsent,         ///< No directory (any more).
  };
  Kind kind = Kind::kAbsent;
  std::string path;
  Node node;
  Error error;
  /// Of kDamaged: the array as it was shown before; null where it was none.
  std::shared_ptr<const NodeState> before;
  /// Why its document, or the path to it, cannot be read any more: then this is what was known of
  /// it. See NodeCache::get_or_known().
  std::optional<Error> unread;
  std::vector<ShownDocument> documents;  ///< Consolidated metadata not included.
  LevelNames levels;                     ///< Of an image: children with other names in the store.
  bool netcdf_wrote = false;             ///< In a data set that netCDF-C wrote (v2 view).
  bool as_netcdf_wrote = false;          ///< And shown as it wrote it.
  bool in_image = false;  ///< It, or a group above, has OME-Zarr metadata. Known only
                          ///< where ViewShared::profile_of_others asks for it.

  ArrayView shown;                   ///< Of arrays only, as are the next three.
  const Profile* profile = nullptr;  ///< It is shown by this one; a part of ViewShared.
  std::uint64_t generation = 0;      ///< Another one for other metadata or another presentation.
  NodeNumbers::Range numbers;        ///< Of its chunks and their directories.

  [[nodiscard]] const ShownDocument* document(std::string_view name) const;
  /// Whether documents can be written to it.
  [[nodiscard]] bool takes_documents() const {
    return kind != Kind::kDamaged && kind != Kind::kHidden && kind != Kind::kAbsent;
  }
  /// Whether the node has a zarr.json, sound or not.
  [[nodiscard]] bool has_document() const {
    return kind == Kind::kGroup || kind == Kind::kArray || kind == Kind::kDamaged ||
           kind == Kind::kHidden;
  }
};

/// The paths of arrays in the group at `path` that it, or a group above it, lists in its
/// `multiscales`.
Result<std::set<std::string>> image_levels_in(Store& store, const std::string& path);

/// Whether a Zarr v3 node lies at or below `path`: a few levels and a bounded number of directories
/// are searched.
Result<bool> leads_to_node(Store& store, const std::string& path);

}  // namespace zarrfs
