// The configuration of a sharding_indexed codec and what may stand before it in a chain.
// Source: ZEP 2, sharding_indexed ("Configuration parameters"); Zarr v3 core, transpose.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/codecs/codec.h"

namespace zarrfs {

struct ShardingConfig {
  std::vector<std::uint64_t> chunk_shape;  ///< Each at least 1.
  std::vector<CodecSpec> codecs;
  std::vector<CodecSpec> index_codecs;
  bool index_at_start = false;
};

/// Parses a list of codecs named `field`. An empty one is kDamaged.
Result<std::vector<CodecSpec>> parse_codec_list(const Json& list, const std::string& field);

/// Parses the configuration of `spec`, a sharding_indexed codec.
Result<ShardingConfig> parse_sharding(const CodecSpec& spec);

/// Where in `specs` the sharding codec stands.
std::optional<std::size_t> find_sharding(const std::vector<CodecSpec>& specs);

/// The axes that a transpose codec puts in order: encoded axis k is decoded axis order[k].
Result<std::vector<std::uint64_t>> parse_transpose_order(const CodecSpec& spec, std::size_t rank);

/// A transpose codec of that order.
CodecSpec transpose_spec(const std::vector<std::uint64_t>& order);

}  // namespace zarrfs
