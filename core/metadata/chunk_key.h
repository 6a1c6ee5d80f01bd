// The encodings of chunk keys that metadata names.
// Source: Zarr v3 core ("Chunk key encodings"), Zarr v2. Pure functions; thread-safe. (From
// coordinates to keys: ChunkKeyEncoding::key; from names in a mount: core/chunks/chunk_names.h.)
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/coordinates.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/metadata/metadata.h"

namespace zarrfs {

/// Parses `chunk_key_encoding`. kUnsupported, by name, for encodings other than "default" and "v2".
Result<ChunkKeyEncoding> parse_chunk_key_encoding(const Json& spelled);

/// The `chunk_key_encoding` member that stands for `encoding`, in full.
Json render_chunk_key_encoding(const ChunkKeyEncoding& encoding);

/// Coordinates that "c/1/2" names, which may be fewer than the array has axes; nothing where it is
/// no key, or leads out of the grid.
std::optional<std::vector<std::uint64_t>> coordinates_below(
    std::string_view key, const std::vector<std::uint64_t>& counts);

}  // namespace zarrfs
