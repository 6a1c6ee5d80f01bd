// The index of a shard: where each inner chunk lies. Source: ZEP 2, sharding_indexed ("Binary shard
// format"). `decode` checks every entry once; an index that exists has only entries that lie within
// the shard. Immutable values; thread-safe. No I/O.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/base/result.h"
#include "core/codecs/codec.h"

namespace zarrfs {

/// Indexes larger than this (64 MiB, 4 Mi chunks in one shard) are refused by name.
inline constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{64} << 20U;

/// How the index of a shard of `entries` inner chunks is stored.
class IndexFormat {
 public:
  /// `specs` are the index_codecs: bytes (either order), then checksums of fixed size; a transpose
  /// of the index array is understood too. Any other chain is kUnsupported, as is an index of more
  /// than kMaxIndexBytes. `counts` are the entries along each stored axis.
  static Result<IndexFormat> make(const std::vector<CodecSpec>& specs,
                                  std::vector<std::uint64_t> counts, bool at_start);
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t encoded_size() const { return encoded_size_; }
  [[nodiscard]] bool at_start() const { return at_start_; }
  /// Where the index lies in a shard of `shard_size` bytes; kDamaged where the shard is shorter.
  [[nodiscard]] Result<ByteRange> range(std::uint64_t shard_size) const;
  [[nodiscard]] const CodecChain& chain() const { return chain_; }

 private:
  CodecChain chain_;
  std::uint64_t entries_ = 0;
  std::uint64_t encoded_size_ = 0;
  bool at_start_ = false;
};

/// What the index says of one inner chunk.
struct IndexEntry {
  enum class State : std::uint8_t { kMissing, kPresent, kDamaged };
  State state = State::kMissing;
  ByteRange range;  ///< From the start of the shard. For kDamaged: as stored.
};

class ShardIndex {
 public:
  /// Decodes an index of a shard of `shard_size` bytes. kDamaged: a checksum or the length is
  /// wrong. Single entries that lie outside the shard, overlap the index, have one half missing or
  /// no bytes are kept as kDamaged: the other chunks stay readable.
  static Result<ShardIndex> decode(ByteView encoded, const IndexFormat& format,
                                   std::uint64_t shard_size);
  /// An index whose entries are all missing.
  static ShardIndex empty(std::uint64_t entries);

  [[nodiscard]] std::uint64_t size() const { return offsets_.size() / 2; }
  [[nodiscard]] IndexEntry entry(std::uint64_t linear) const;
  /// Says that the chunk lies at `range`; the shard is taken to reach at least that far.
  void set(std::uint64_t linear, ByteRange range);
  void clear(std::uint64_t linear);
  /// Number of chunks present (kPresent or kDamaged).
  [[nodiscard]] std::uint64_t present() const;
  [[nodiscard]] Result<Bytes> encode(const IndexFormat& format) const;
  /// Bytes of memory, for caches.
  [[nodiscard]] std::size_t memory() const { return offsets_.size() * 8 + sizeof(*this); }
  /// Why entry `linear` is damaged, with numbers: "[9000, +512) lies past the end, 8192".
  [[nodiscard]] std::string describe_damage(std::uint64_t linear) const;

 private:
  std::vector<std::uint64_t, PageAllocator<std::uint64_t>>
      offsets_;  // offset, length of each entry; both 2^64-1: missing
  ByteRange index_range_;
  std::uint64_t shard_size_ = 0;
};

}  // namespace zarrfs
