// One array as it is shown: where its bytes are, and by which rule and names they are presented.
// Immutable once built (its parts with state of their own are thread-safe).
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "core/chunks/chunk_names.h"
#include "core/chunks/shard_directory.h"
#include "core/chunks/shard_versions.h"
#include "core/present/presentation.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

struct ArrayView {
  std::string path;
  struct stat status {};  ///< Of the array's document.
  Presentation presentation;
  std::shared_ptr<ArrayReader> reader;
  std::shared_ptr<ShardDirectory> cells;
  std::shared_ptr<const ArrayVersions> versions;  ///< Null where shards never change.
  ChunkNames names;

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

/// What a request works out, once, of a chunk that is shown.
struct ShownPlace {
  std::uint64_t number = 0;          ///< Among the shown ones: array.names has it.
  std::optional<ChunkPlace> stored;  ///< None where it is made of other chunks than it is.
};
ShownPlace shown_place(const ArrayView& array, const Coordinates& chunk);

/// By what path programs call a prefix directory of the array: "a/0/1", "a/c/0".
std::string part_path(const ArrayView& array, const ChunkOrPrefix& part);

}  // namespace zarrfs
