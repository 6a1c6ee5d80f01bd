// The shards of Neuroglancer's precomputed format: which shard and minishard holds a chunk, and the
// index of a minishard. Source: neuroglancer, src/datasource/precomputed/sharded.md and volume.md
// ("Compressed Morton code"). Pure functions and immutable values; thread-safe. No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// How chunks are spread over shards: `sharding` of a scale.
struct PrecomputedSharding {
  enum class Hash { kIdentity, kMurmur };
  std::uint32_t preshift_bits = 0;
  std::uint32_t minishard_bits = 0;
  std::uint32_t shard_bits = 0;
  Hash hash = Hash::kIdentity;
  bool gzip_index = false;  ///< minishard_index_encoding.
  bool gzip_data = false;   ///< data_encoding.

  /// Where a chunk belongs.
  struct Place {
    std::uint64_t shard = 0;
    std::uint64_t minishard = 0;
  };
  [[nodiscard]] Place place_of(std::uint64_t chunk_id) const;
  /// "0f.shard".
  [[nodiscard]] std::string file_name(std::uint64_t shard) const;
  /// Bytes of the index at the start of each shard.
  [[nodiscard]] std::uint64_t index_size() const { return std::uint64_t{16} << minishard_bits; }
};

/// Parses a scale's `sharding` (not null); `field` is its name in messages. kUnsupported for other
/// kinds of sharding, kDamaged for malformed ones.
Result<PrecomputedSharding> parse_precomputed_sharding(const Json& spelled,
                                                       const std::string& field);

/// The bits of the coordinates, interleaved, without those that no chunk of the grid needs. Nothing
/// where the grid needs more than 64.
std::optional<std::uint64_t> compressed_morton_code(std::span<const std::uint64_t, 3> chunk,
                                                    std::span<const std::uint64_t, 3> grid);

/// The low 64 bits of MurmurHash3_x86_128 of the eight little-endian bytes of `value`, seed 0.
std::uint64_t murmurhash3_low64(std::uint64_t value);

/// Where the index of a minishard lies in its shard of `shard_size` bytes, by its entry of the
/// shard index; nothing where the minishard has no chunks. kDamaged where it does not lie there.
Result<std::optional<ByteRange>> minishard_range(ByteView entry,
                                                 const PrecomputedSharding& sharding,
                                                 std::uint64_t shard_size);

/// The chunks of one minishard.
class MinishardIndex final : public Shard {
 public:
  /// `decoded`: the index without its compression. `file` is the shard's. kDamaged where its
  /// numbers run over, or a chunk is listed twice.
  static Result<MinishardIndex> parse(ByteView decoded, const PrecomputedSharding& sharding,
                                      const FileIdentity& file);
  [[nodiscard]] FileIdentity identity() const override { return file_; }
  [[nodiscard]] std::size_t memory() const override {
    return sizeof(*this) + entries_.size() * sizeof(Entry);
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// The chunk's bytes, from the start of the shard; nothing where it is not listed. They may lie
  /// outside the shard.
  [[nodiscard]] std::optional<ByteRange> find(std::uint64_t chunk_id) const;

 private:
  struct Entry {
    std::uint64_t chunk_id = 0;
    ByteRange range;
  };
  FileIdentity file_;
  std::vector<Entry> entries_;  // by chunk_id
};

}  // namespace zarrfs
