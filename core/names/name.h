// A name in a directory, as programs see both.
#pragma once

#include <optional>
#include <string>

#include "core/chunks/chunk_names.h"
#include "core/nodes/node_state.h"

namespace zarrfs {

using StatePtr = std::shared_ptr<const NodeState>;

struct Directory {
  StatePtr state;                     ///< Of the directory, or of the array it belongs to.
  std::optional<Coordinates> prefix;  ///< Of a directory of chunks.
  std::uint64_t tag = 0;              ///< See InodeTarget::tag.

  /// As programs see it.
  [[nodiscard]] std::string path() const {
    return prefix ? part_path(state->shown, ChunkOrPrefix{true, *prefix}) : state->path;
  }
};

/// Whether chunks are listed by the names that they have in this directory.
inline bool is_called_as_listed(const Directory& directory) {
  const ChunkNames& names = directory.state->shown.names;
  return !names.two_names() || names.nested() == directory.prefix.has_value();
}

/// What a name in a directory stands for, whether or not something is there.
enum class NameKind {
  kControl,      ///< `.zarrfs` in the root.
  kDocument,     ///< A document of the node, shown or to be written.
  kChunk,        ///< A chunk of the array.
  kPrefix,       ///< A directory of chunks.
  kOutside,      ///< A chunk of a larger array than this.
  kUnreadable,   ///< What only a sound zarr.json would tell.
  kConcealed,    ///< Taken by what this view does not show.
  kLevel,        ///< A level of an image that is shown by another name.
  kTemporary,    ///< Another name in an array.
  kPassThrough,  ///< A file or directory of the store.
};

struct ResolvedName {
  NameKind kind = NameKind::kPassThrough;
  ChunkOrPrefix part;  ///< Of kChunk and kPrefix.
};

/// A name that a program may make, change or remove.
struct Name {
  NameKind kind = NameKind::kPassThrough;
  std::string path;        ///< As programs see it.
  std::string store_path;  ///< Of kPassThrough, and of kTemporary that is in the store.
  ChunkOrPrefix part;      ///< Of kChunk and kPrefix.
  mode_t mode = 0644;      ///< Requested by the program that creates it.

  /// Whether what is written to it becomes something else in the store.
  [[nodiscard]] bool takes_bytes() const {
    return kind == NameKind::kChunk || kind == NameKind::kDocument;
  }
};

}  // namespace zarrfs
