// Shapes as users write them. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// "64x64x64", "64,64,64" or "64": lengths of 1 and more, at most 32 of them. kInvalid, naming the
/// value.
Result<std::vector<std::uint64_t>> parse_lengths(std::string_view text);

/// The words of a command line, in which "--shard-shape 64 64 64" is "--shard-shape 64x64x64": a
/// number that follows a length is one, too (a store called "64" is "./64" there).
std::vector<std::string> join_lengths(const std::vector<std::string>& words);

}  // namespace zarrfs
