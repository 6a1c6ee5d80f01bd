// Shapes as users write them. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// "64x64x64", "64,64,64" or "64": lengths of 1 and more, at most 32 of them. kInvalid, naming the
/// value.
Result<std::vector<std::uint64_t>> parse_lengths(std::string_view text);

}  // namespace zarrfs
