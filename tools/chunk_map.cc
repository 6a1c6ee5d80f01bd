#include "tools/chunk_map.h"

#include <png.h>

#include <algorithm>
#include <cmath>

namespace zarrfs {
namespace {

constexpr Colour kLineColour = {0, 0, 0};

std::string colour_code(int layer, const Colour& colour) {
  return "\033[" + std::to_string(layer) + ";2;" + std::to_string(colour[0]) + ";" +
         std::to_string(colour[1]) + ";" + std::to_string(colour[2]) + "m";
}

}  // namespace

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

Colour scale_colour(double value) {
  static constexpr std::array<Colour, 5> kStops = {
      {{{68, 1, 84}}, {{59, 82, 139}}, {{33, 145, 140}}, {{94, 201, 98}}, {{253, 231, 37}}}};
  const double place = std::clamp(value, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(below);
  Colour colour{};
  for (std::size_t channel = 0; channel < colour.size(); ++channel) {
    const double mixed = kStops[below][channel] * (1 - part) + kStops[below + 1][channel] * part;
    colour[channel] = static_cast<std::uint8_t>(std::lround(mixed));
  }
  return colour;
}

Result<void> write_png(const std::string& path, const std::vector<Colour>& cells,
                       std::uint64_t rows, std::uint64_t columns, std::uint64_t square,
                       std::uint64_t shard_rows, std::uint64_t shard_columns) {
  constexpr std::uint64_t kRoomForLines = 4;
  const std::uint64_t width = columns * square;
  const std::uint64_t height = rows * square;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(width * height * 3);
  for (std::uint64_t y = 0; y < height; ++y) {
    for (std::uint64_t x = 0; x < width; ++x) {
      const std::uint64_t row = y / square;
      const std::uint64_t column = x / square;
      const bool lines = square >= kRoomForLines;
      const bool line =
          lines && ((shard_rows > 0 && y % square == 0 && row % shard_rows == 0 && y > 0) ||
                    (shard_columns > 0 && x % square == 0 && column % shard_columns == 0 && x > 0));
      const Colour& colour = line ? kLineColour : cells[row * columns + column];
      pixels.insert(pixels.end(), colour.begin(), colour.end());
    }
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr) == 0) {
    return fail(Fault::kIo, path + ": " + image.message);
  }
  return {};
}

std::string terminal_picture(const std::vector<Colour>& cells, std::uint64_t rows,
                             std::uint64_t columns) {
  std::string text;
  for (std::uint64_t row = 0; row < rows; row += 2) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      text += colour_code(38, cells[row * columns + column]);
      text += row + 1 < rows ? colour_code(48, cells[(row + 1) * columns + column]) : "\033[49m";
      text += "\u2580";
    }
    text += "\033[0m\n";
  }
  return text;
}

}  // namespace zarrfs
