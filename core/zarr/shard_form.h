// Which shards an array gets: the shard shape that a user asked for, or a sensible one, and the
// metadata that says so. Source: ZEP 2 (sharding_indexed). Pure functions; thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace zarrfs {

/// What a user asked for; at most one member. A list of one number stands for every axis.
struct ShardForm {
  std::vector<std::uint64_t> shape = {};   ///< In elements; rounded up to whole chunks.
  std::vector<std::uint64_t> chunks = {};  ///< In inner chunks.
  std::uint64_t bytes =
      0;  ///< Decoded bytes of a shard, at most, in at most 2^18 chunks; 0: 64 MiB.
};

/// The shard shape, in elements, that `form` gives to an array of `shape` with chunks of
/// `chunk_shape` elements of `element_bytes` (0: variable length, taken as 16). kInvalid, with the
/// reason, where it has none.
Result<std::vector<std::uint64_t>> choose_shard_shape(const ShardForm& form,
                                                      std::span<const std::uint64_t> shape,
                                                      std::span<const std::uint64_t> chunk_shape,
                                                      std::uint32_t element_bytes);

/// The document of the array whose chunks' codecs are `plain`'s, in shards of `shard_shape`.
Json sharded_document(Json plain, std::span<const std::uint64_t> shard_shape,
                      const std::vector<std::uint64_t>& chunk_shape);

/// "(4, 5)".
std::string list_text(std::span<const std::uint64_t> numbers);

}  // namespace zarrfs
