#include "tools/picture/chunk_map.h"

#include <algorithm>

namespace zarrfs::tools {
double ChunkMap::largest_mean() const {
  double largest = 1;
  for (const MapCell& cell : cells) {
    if (cell.present == 0) continue;
    largest =
        std::max(largest, static_cast<double>(cell.bytes) / static_cast<double>(cell.present));
  }
  return largest;
}

double ChunkMap::value(const MapCell& cell, Measure measure, double largest_mean) const {
  if (cell.present == 0) return -1;
  const double mean = static_cast<double>(cell.bytes) / static_cast<double>(cell.present);
  switch (measure) {
    case Measure::kPresence:
      return static_cast<double>(cell.present) /
             static_cast<double>(std::max(cell.possible, cell.present));
    case Measure::kSize: return mean / largest_mean;
    case Measure::kCompression:
      return chunk_bytes == 0 ? mean / largest_mean
                              : std::min(1.0, mean / static_cast<double>(chunk_bytes));
    case Measure::kDead: return cell.dead;
  }
  return -1;
}

std::vector<Colour> ChunkMap::colours(Measure measure) const {
  const double largest = largest_mean();
  std::vector<Colour> picture;
  picture.reserve(cells.size());
  for (const MapCell& cell : cells) {
    const double shown = value(cell, measure, largest);
    if (cell.damaged) {
      picture.push_back(kDamageColour);
    } else {
      picture.push_back(shown < 0 ? kMissingColour : scale_colour(shown));
    }
  }
  return picture;
}

}  // namespace zarrfs::tools
