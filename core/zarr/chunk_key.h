// Names of chunks: from text to coordinates, strictly. Source: Zarr v3 core ("Chunk key
// encodings"), Zarr v2. Pure functions; thread-safe. (The other direction is
// ChunkKeyEncoding::key.)
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/zarr/metadata.h"

namespace zarrfs {

/// The coordinates that `key` names under `encoding`: "0.1.2", "c/0/1", "c", "0". Nothing unless
/// the key is canonical (decimal, no leading zeros, no sign) and every coordinate is below its
/// count.
std::optional<std::vector<std::uint64_t>> parse_chunk_key(std::string_view key,
                                                          const ChunkKeyEncoding& encoding,
                                                          std::span<const std::uint64_t> counts);

/// One canonical decimal number below `limit`.
std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit);

}  // namespace zarrfs
