#include "tools/picture/terminal.h"

#include <png.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace zarrfs::tools {
namespace {

constexpr Colour kLineColour = {0, 0, 0};
constexpr int kForeground = 38;
constexpr int kBackground = 48;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int distance(const Colour& a, const Colour& b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// The nearest of the 216 colours and 24 greys that terminals of 256 colours have (xterm's).
int palette_number(const Colour& colour) {
  static constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
  constexpr int kFirstGrey = 232;
  constexpr int kGreys = 24;
  int number = 16;
  Colour in_cube{};
  for (std::size_t channel = 0; channel < colour.size(); ++channel) {
    const auto nearest = std::min_element(kLevels.begin(), kLevels.end(), [&](int a, int b) {
      return std::abs(a - colour[channel]) < std::abs(b - colour[channel]);
    });
    in_cube[channel] = static_cast<std::uint8_t>(*nearest);
    static constexpr std::array<int, 3> kWeights = {36, 6, 1};
    number += kWeights[channel] * static_cast<int>(nearest - kLevels.begin());
  }
  const int mean = (colour[0] + colour[1] + colour[2]) / 3;
  const int grey = std::clamp((mean - 3) / 10, 0, kGreys - 1);
  const auto shade = static_cast<std::uint8_t>(8 + 10 * grey);
  return distance({shade, shade, shade}, colour) < distance(in_cube, colour) ? kFirstGrey + grey
                                                                             : number;
}

std::string colour_code(int layer, const Colour& colour, ColourDepth depth) {
  const std::string start = "\033[" + std::to_string(layer);
  if (depth == ColourDepth::k256)
    return start + ";5;" + std::to_string(palette_number(colour)) + "m";
  return start + ";2;" + std::to_string(colour[0]) + ";" + std::to_string(colour[1]) + ";" +
         std::to_string(colour[2]) + "m";
}

double brightness(const Colour& colour) {
  return (0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]) / 255;
}

char character_of(const Colour& upper, const Colour& lower) {
  static constexpr std::string_view kShades = ".:-=+*#%@";
  if (upper == kDamageColour || lower == kDamageColour) return 'X';
  if (upper == kMissingColour && lower == kMissingColour) return ' ';
  const double mean = upper == kMissingColour   ? brightness(lower)
                      : lower == kMissingColour ? brightness(upper)
                                                : (brightness(upper) + brightness(lower)) / 2;
  const double darkest = brightness(scale_colour(0));
  const double part = (mean - darkest) / (brightness(scale_colour(1)) - darkest);
  const double place = std::clamp(part, 0.0, 1.0) * static_cast<double>(kShades.size());
  return kShades[std::min(static_cast<std::size_t>(place), kShades.size() - 1)];
}

}  // namespace

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

ColourDepth colour_depth(const Console& console, const std::string& wanted) {
  if (wanted == "none") return ColourDepth::kNone;
  if (wanted == "256") return ColourDepth::k256;
  if (wanted == "24bit") return ColourDepth::k24Bit;
  if (!console.out_is_terminal || !environment("NO_COLOR").empty()) return ColourDepth::kNone;
  const std::string_view announced = environment("COLORTERM");
  if (announced == "truecolor" || announced == "24bit") return ColourDepth::k24Bit;
  const std::string_view terminal = environment("TERM");
  if (terminal.ends_with("-direct")) return ColourDepth::k24Bit;
  return terminal.find("256color") == std::string_view::npos ? ColourDepth::kNone
                                                             : ColourDepth::k256;
}

TerminalSize terminal_size() {
  struct winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

std::string terminal_picture(const std::vector<Colour>& cells, std::uint64_t rows,
                             std::uint64_t columns, ColourDepth depth) {
  std::string text;
  for (std::uint64_t row = 0; row < rows; row += 2) {
    const bool has_lower = row + 1 < rows;
    for (std::uint64_t column = 0; column < columns; ++column) {
      const Colour& upper = cells[row * columns + column];
      const Colour& lower = has_lower ? cells[(row + 1) * columns + column] : upper;
      if (depth == ColourDepth::kNone) {
        text += character_of(upper, lower);
        continue;
      }
      text += colour_code(kForeground, upper, depth);
      text += has_lower ? colour_code(kBackground, lower, depth) : "\033[49m";
      text += "\u2580";
    }
    text += depth == ColourDepth::kNone ? "\n" : "\033[0m\n";
  }
  return text;
}

Result<Bytes> make_png(const std::vector<Colour>& cells, std::uint64_t rows, std::uint64_t columns,
                       std::uint64_t square, std::uint64_t shard_rows,
                       std::uint64_t shard_columns) {
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
  png_alloc_size_t size = 0;
  const auto write = [&](void* out) {
    return png_image_write_to_memory(&image, out, &size, 0, pixels.data(), 0, nullptr) != 0;
  };
  Bytes png;
  if (write(nullptr)) {
    png.resize(size);
    if (write(png.data())) return png;
  }
  return fail(Fault::kIo, std::string("making a picture: ") + image.message);
}

Result<void> write_png(const std::string& path, const std::vector<Colour>& cells,
                       std::uint64_t rows, std::uint64_t columns, std::uint64_t square,
                       std::uint64_t shard_rows, std::uint64_t shard_columns) {
  ZARRFS_TRY(const Bytes png, make_png(cells, rows, columns, square, shard_rows, shard_columns));
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  file.close();
  if (!file) return fail(system_error(errno, path + ": writing it"));
  return {};
}

}  // namespace zarrfs::tools
