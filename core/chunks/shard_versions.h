// Versions of an array's shards and chunks: 0 at first, another one each time a shard is
// seen to be another file than before, or a chunk is written through the mount. Node numbers of
// chunks carry the version, so that pages which the kernel keeps of one version are never shown as
// those of another.
//
// A commit of our own is no change: the chunks that were not written keep version and time.
//
// Memory is bounded: when too much is remembered, all is forgotten, and everything gets a version
// that was never used. Thread-safe.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <unordered_map>

#include "core/base/lock_order.h"

namespace zarrfs {

/// What a shard looks like now.
struct ShardState {
  std::uint64_t digest = 0;  ///< Another one for another file; 0 where there is none.
  struct timespec modified {};
};

/// A chunk's version, and when it changed.
struct ChunkVersion {
  std::uint64_t version = 0;
  struct timespec modified {};
};

class ShardVersions {
 public:
  explicit ShardVersions(std::size_t max_remembered = std::size_t{1} << 17U)
      : max_remembered_(max_remembered) {}

  /// The version of chunk `chunk` of shard `shard`, whose state is `state` now. (Where nothing
  /// is written, one chunk number will do for all chunks of a shard.)
  ChunkVersion version_of(std::uint64_t shard, std::uint64_t chunk, const ShardState& state);
  /// The version of a chunk that has been written and is not published yet.
  ChunkVersion version_of_draft(std::uint64_t shard, std::uint64_t chunk,
                                const struct timespec& modified);
  /// The chunk was written or removed.
  void written(std::uint64_t shard, std::uint64_t chunk, const struct timespec& modified);
  /// Other shards may have come: everything gets a version that was never used.
  void forget();
  /// A commit is about to replace the shard: `before` becomes `after` (digests), and no chunk
  /// changes. Until it is republished, some see this one and some that.
  void replacing(std::uint64_t shard, std::uint64_t before, std::uint64_t after);
  /// The commit has replaced it.
  void republished(std::uint64_t shard, std::uint64_t before, std::uint64_t after);

 private:
  struct Seen {
    std::uint64_t digest = 0;
    std::optional<std::uint64_t> next;  ///< The digest that a commit is giving to it.
    bool known = false;                 ///< Whether `digest` and `modified` have been seen at all.
    std::uint64_t version = 0;
    std::uint64_t highest = 0;  ///< Of the shard and of its chunks.
    struct timespec modified {};
  };
  struct Written {
    std::uint64_t shard_version = 0;  ///< It holds only as long as the shard has this version.
    ChunkVersion current;
  };
  void make_room();
  void forget_locked();
  Seen& seen(std::uint64_t shard);

  const std::size_t max_remembered_;
  TableMutex mutex_;
  std::unordered_map<std::uint64_t, Seen> seen_;
  std::unordered_map<std::uint64_t, Written> written_;
  std::uint64_t first_version_ = 0;
  std::uint64_t last_version_ = 0;
};

}  // namespace zarrfs
