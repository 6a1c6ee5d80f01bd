// The encodings of chunk keys that metadata names, and the coordinates in keys, strictly.
// Source: Zarr v3 core ("Chunk key encodings"), Zarr v2. Pure functions; thread-safe. (From
// coordinates to keys: ChunkKeyEncoding::key; from names in a mount: core/chunks/chunk_names.h.)
#pragma once

#include <optional>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/metadata/metadata.h"

namespace zarrfs {

/// Parses `chunk_key_encoding`. kUnsupported, by name, for encodings other than "default" and "v2".
Result<ChunkKeyEncoding> parse_chunk_key_encoding(const Json& spelled);

/// The `chunk_key_encoding` member that stands for `encoding`, in full.
Json render_chunk_key_encoding(const ChunkKeyEncoding& encoding);

/// One canonical decimal number (no sign, no leading zeros) below `limit`.
std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit);

}  // namespace zarrfs
