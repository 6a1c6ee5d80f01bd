// Pictures in a terminal: colours where it has them, characters elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

inline constexpr Colour kMissingColour = {48, 48, 48};
inline constexpr Colour kDamageColour = {230, 30, 30};

/// From dark blue (0) over green to yellow (1).
Colour scale_colour(double value);

enum class ColourDepth { kNone, k256, k24Bit };

/// What `--colours` says: auto, none, 256 or 24bit. auto: what the terminal announces in TERM and
/// COLORTERM; none where the output is no terminal, or NO_COLOR is set (no-color.org).
ColourDepth colour_depth(const Console& console, const std::string& wanted);
inline constexpr std::array<const char*, 4> kColourChoices = {"auto", "none", "256", "24bit"};

struct TerminalSize {
  std::uint64_t columns = 80;
  std::uint64_t lines = 24;
};
/// That of standard output; 80 x 24 where it is no terminal.
TerminalSize terminal_size();

/// Lines of text, two rows of `cells` a line: half blocks in colours, or without any the
/// characters from '.' (dark) to '@' (bright), ' ' for kMissingColour and 'X' for kDamageColour.
std::string terminal_picture(const std::vector<Colour>& cells, std::uint64_t rows,
                             std::uint64_t columns, ColourDepth depth);

/// A PNG of `cells` as squares of `square` pixels; where there is room, lines between shards (every
/// `shard_rows` rows and `shard_columns` columns; 0: none).
Result<Bytes> make_png(const std::vector<Colour>& cells, std::uint64_t rows, std::uint64_t columns,
                       std::uint64_t square, std::uint64_t shard_rows, std::uint64_t shard_columns);
/// The same into a file.
Result<void> write_png(const std::string& path, const std::vector<Colour>& cells,
                       std::uint64_t rows, std::uint64_t columns, std::uint64_t square,
                       std::uint64_t shard_rows, std::uint64_t shard_columns);

}  // namespace zarrfs::tools
