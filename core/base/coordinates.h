// Numbers in the names of chunks, strictly: what stands for a chunk is a rule of every place that
// meets names, long before an array tells which chunks there are. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrfs {

/// One canonical decimal number (no sign, no leading zeros) below `limit`.
std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit);

/// Whether `name` could be a chunk or prefix directory of some array: "0", "1.22", "c", "c.0.1".
bool looks_like_chunk(std::string_view name);

}  // namespace zarrfs
