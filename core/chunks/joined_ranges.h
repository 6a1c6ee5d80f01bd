// Few requests for many ranges of a file at a server. Pure function.
#pragma once

#include <vector>

#include "core/base/bytes.h"

namespace zarrfs {

/// `ranges` in order, those close to each other as one, of at most `most` bytes: what is brought
/// for nothing is at most half of what is wanted, or three quarters where the gaps are no longer
/// than the ranges.
std::vector<ByteRange> join_ranges(std::vector<ByteRange> ranges, std::uint64_t most);

}  // namespace zarrfs
