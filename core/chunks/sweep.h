// How the chunks of an array are met by a program that goes through a box of them, the last axis
// fastest: which come next is told by the second chunk of a row, the second row, the second plane.
// Several may be met at once, in nearly that order. Not thread-safe. No I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "core/chunks/chunk_names.h"

namespace zarrfs {

/// Chunks from `first` to `last` along each axis, both included.
struct ChunkBox {
  Coordinates first;
  Coordinates last;
  bool operator==(const ChunkBox&) const = default;
  [[nodiscard]] bool has(const Coordinates& chunk) const;
  /// Goes on to the next one, the last axis fastest; false behind the last. `chunk` is one of them.
  bool step(Coordinates& chunk) const;
  /// 2^64 - 1 where they are more.
  [[nodiscard]] std::uint64_t chunks() const;
};

class Sweep {
 public:
  /// `counts`: chunks of the array along each axis. `chunk` was not met before. False where it is
  /// the first of another sweep.
  bool met(const Coordinates& chunk, const Coordinates& counts);
  /// What is met where it goes on so, and what was met of that; nothing where nothing tells.
  [[nodiscard]] std::optional<ChunkBox> ahead(const Coordinates& counts) const;
  /// The slowest axis that it has moved along; the number of axes where there is none.
  [[nodiscard]] std::size_t axis() const;
  [[nodiscard]] std::uint64_t met() const { return met_; }
  /// The smallest box around what was met. Empty before the first chunk.
  [[nodiscard]] const ChunkBox& seen() const { return seen_; }

 private:
  ChunkBox seen_;
  std::uint64_t met_ = 0;
  bool complete_ = false;  ///< Whether what was seen had few holes when it grew last.
};

}  // namespace zarrfs
