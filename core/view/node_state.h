// What stands at one path of the store and how it is shown: loaded once, used by every request
// until the store's document changes. Immutable once built (its parts with state of their own are
// thread-safe).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/store.h"
#include "core/view/cell_directory.h"
#include "core/view/chunk_names.h"
#include "core/view/node_id.h"
#include "core/view/presentation.h"
#include "core/view/shard_versions.h"
#include "core/zarr/array_reader.h"
#include "core/zarr/tree.h"

namespace zarrfs {

/// A document of a node: its name and text.
struct ShownDocument {
  std::string name;
  std::shared_ptr<const Bytes> text;
};

struct NodeState {
  enum class Kind {
    kGroup,
    kArray,
    kImplicitGroup,  ///< A directory without zarr.json that leads to a node.
    kForeign,        ///< A directory that leads to none.
    kDamaged,        ///< Listed; its documents and chunks answer `error`.
    kHidden,         ///< Not shown: `error` says why.
    kAbsent,         ///< No directory (any more).
  };
  Kind kind = Kind::kAbsent;
  std::string path;
  Node node;
  Error error;
  std::vector<ShownDocument> documents;  ///< Consolidated metadata not included.

  // Of arrays only:
  Presentation presentation;
  std::shared_ptr<ArrayReader> reader;
  std::shared_ptr<CellDirectory> cells;
  std::shared_ptr<ShardVersions> versions;  ///< Null where stored objects never change.
  ChunkNames names;
  std::uint64_t generation = 0;  ///< Another one for other metadata or another presentation.
  NodeId first_node = 0;         ///< Of version 0.

  [[nodiscard]] const ShownDocument* document(std::string_view name) const;
  /// Whether the node has a zarr.json, sound or not.
  [[nodiscard]] bool has_document() const {
    return kind == Kind::kGroup || kind == Kind::kArray || kind == Kind::kDamaged ||
           kind == Kind::kHidden;
  }

  /// Cells that a shown chunk with this coordinate along `axis` overlaps.
  [[nodiscard]] AxisRange cells_of(std::size_t axis, std::uint64_t coordinate) const;
  /// Shown chunks along `axis` that overlap the cell: `first` up to, not including, `end`.
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] Span shown_of(std::size_t axis, std::uint64_t cell) const;
  /// Whether each cell of a grid that is not regular is shown as one chunk.
  [[nodiscard]] bool shows_cells() const;
  /// Elements of a shown chunk along `axis`; not where shows_cells().
  [[nodiscard]] std::uint64_t edge(std::size_t axis) const;
};

/// Whether a Zarr v3 node lies at or below `path`: a few levels and a bounded number of directories
/// are searched.
Result<bool> leads_to_node(Store& store, const std::string& path);

/// By what path programs call a prefix directory of the array: "a/0/1", "a/c/0".
std::string part_path(const NodeState& array, const NamedPart& part);

}  // namespace zarrfs
