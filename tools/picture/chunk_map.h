// The chunk grid of an array along two axes, as a picture. Pure. Immutable values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/picture/terminal.h"

namespace zarrfs::tools {

/// What is known of the chunks that one cell of a picture stands for.
struct MapCell {
  std::uint64_t possible = 0;  ///< Chunks that the cell stands for.
  std::uint64_t present = 0;
  std::uint64_t bytes = 0;  ///< Stored bytes of those present.
  double dead = 0;          ///< Largest part of one of their shards that is dead, 0 to 1.
  bool damaged = false;
};

enum class Measure { kPresence, kSize, kCompression, kDead };

struct ChunkMap {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<MapCell> cells;     ///< rows * columns.
  std::uint64_t chunk_bytes = 0;  ///< Decoded bytes of one chunk; 0: variable.

  /// The value of a cell, 0 to 1, for the colour; negative where nothing is present.
  [[nodiscard]] double value(const MapCell& cell, Measure measure, double largest_mean) const;
  /// The largest mean size of the chunks of a cell.
  [[nodiscard]] double largest_mean() const;
  /// One colour for each cell: damage is red, missing chunks are grey.
  [[nodiscard]] std::vector<Colour> colours(Measure measure) const;
};

}  // namespace zarrfs::tools
