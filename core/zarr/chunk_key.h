// Names of chunks: from text to coordinates, strictly, and the encodings that metadata names.
// Source: Zarr v3 core ("Chunk key encodings"), Zarr v2. Pure functions; thread-safe. (From
// coordinates to text: ChunkKeyEncoding::key.)
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/zarr/metadata.h"

namespace zarrfs {

/// Parses `chunk_key_encoding`. kUnsupported, by name, for encodings other than "default" and "v2".
Result<ChunkKeyEncoding> parse_chunk_key_encoding(const Json& spelled);

/// The `chunk_key_encoding` member that stands for `encoding`, in full.
Json render_chunk_key_encoding(const ChunkKeyEncoding& encoding);

/// The coordinates that `key` names under `encoding`: "0.1.2", "c/0/1", "c", "0". Nothing unless
/// the key is canonical (decimal, no leading zeros, no sign) and every coordinate is below its
/// count.
std::optional<std::vector<std::uint64_t>> parse_chunk_key(std::string_view key,
                                                          const ChunkKeyEncoding& encoding,
                                                          std::span<const std::uint64_t> counts);

/// One canonical decimal number below `limit`.
std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit);

}  // namespace zarrfs
