// Names of chunks within an array's directory, and the numbers of the nodes they name.
// Source: Zarr v3 core ("Chunk key encoding"), Zarr v2 ("Chunks", dimension_separator).
//
// A chunk is reached by its flat name ("0.1.2", "c.0.1.2") or through prefix directories ("0/1/2",
// "c/0/1/2"): both are answered; a listing shows the one that the array declares. A prefix
// directory fixes the first coordinates.
//
// Nodes of an array are numbered: chunks in C order, then the prefix directories of each depth.
// Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/coordinates.h"
#include "core/metadata/metadata.h"

namespace zarrfs {

using Coordinates = std::vector<std::uint64_t>;

/// A chunk (one coordinate per axis) or a prefix directory (fewer, or none).
struct ChunkOrPrefix {
  bool directory = false;
  Coordinates coordinates;
};

class ChunkNames {
 public:
  ChunkNames() = default;
  /// The product of `counts` is at most kMaxChunks.
  ChunkNames(ChunkKeyEncoding keys, std::vector<std::uint64_t> counts);

  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::size_t rank() const { return counts_.size(); }
  [[nodiscard]] std::uint64_t chunks() const { return first_of_depth_.front(); }

  /// What `name` means in the array's directory; nothing where it names no chunk within the array.
  [[nodiscard]] std::optional<ChunkOrPrefix> in_array(std::string_view name) const;
  /// Whether `name` is that of a chunk once the array has grown: a flat one, outside the array.
  [[nodiscard]] bool may_grow_to(std::string_view name) const;
  /// What `name` means in the prefix directory `prefix`.
  [[nodiscard]] std::optional<ChunkOrPrefix> in_prefix(std::span<const std::uint64_t> prefix,
                                                       std::string_view name) const;

  /// Whether a chunk has two names: a flat one, and one in prefix directories.
  [[nodiscard]] bool two_names() const { return counts_.size() > first_depth(); }
  /// Whether chunks are listed in prefix directories.
  [[nodiscard]] bool nested() const;
  /// Coordinates fixed by the array's own directory: none. The first prefix directories that
  /// nested() names have this many: 0 ("c") or 1 ("0").
  [[nodiscard]] std::size_t first_depth() const {
    return keys_.kind == ChunkKeyEncoding::Kind::kDefault ? 0 : 1;
  }
  /// The name of a chunk in the array's directory, where not nested().
  [[nodiscard]] std::string flat_name(std::span<const std::uint64_t> chunk) const;

  /// Nodes in all: chunks and prefix directories.
  [[nodiscard]] std::uint64_t nodes() const { return first_of_depth_.back(); }
  [[nodiscard]] std::uint64_t number_of(const ChunkOrPrefix& part) const;
  /// number < nodes().
  [[nodiscard]] ChunkOrPrefix part_of(std::uint64_t number) const;

 private:
  ChunkKeyEncoding keys_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> first_of_depth_ = {
      1, 1};  // first number of the directories of each depth
};

}  // namespace zarrfs
