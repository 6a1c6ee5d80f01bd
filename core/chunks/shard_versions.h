// Versions of a mount's shards and chunks: another one for another file in a shard's place, and
// for each write of a chunk through the mount. Node numbers of chunks carry the version, so that
// pages which the kernel keeps of one version are never shown as those of another.
//
// The version of a shard that was only looked at is a digest of its file's identity: nothing is
// kept of it. Of those that this mount writes a table is kept, since
//  - a write of a chunk is counted: file systems give the number of a file that is gone to the next
//    one, and size and time may be the same;
//  - a commit of our own is no change: the chunks that were not written keep version and time.
//
// The table is bounded. A shard that has to leave it, because others were written since, or
// another program replaced it, counts as changed, as do some others: a digest holds within one of
// kEpochs counters only, which goes on then. So no version ever comes back.
//
// Thread-safe; where nothing is written no lock is taken.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/lock_order.h"
#include "core/store/store.h"

namespace zarrfs {

/// What a shard looks like now.
struct ShardState {
  std::uint64_t digest = 0;  ///< Another one for another file; 0 where there is none.
  struct timespec modified {};
};

/// Of the file itself. 0 where there is none.
std::uint64_t digest_of(const FileIdentity& identity);

/// A chunk's version, and when it changed.
struct ChunkVersion {
  std::uint64_t version = 0;
  struct timespec modified {};
};

class ShardVersions {
 public:
  /// A shard of an array.
  struct Key {
    std::uint64_t array = 0;  ///< A digest of its path and generation.
    std::uint64_t cell = 0;
    bool operator==(const Key&) const = default;
  };
  using Chunks = std::vector<std::pair<std::uint64_t, struct timespec>>;
  static constexpr std::size_t kMostKept = std::size_t{1} << 16U;

  /// Keeps at most `most` shards and written chunks.
  explicit ShardVersions(std::size_t most = kMostKept) : most_(most) {}

  /// The version of chunk `chunk` of the shard, whose state is `state` now. (Where nothing
  /// is written, one chunk number will do for all chunks of a shard.)
  ChunkVersion version_of(Key shard, std::uint64_t chunk, const ShardState& state);
  /// The version of a chunk that has been written and is not published yet.
  ChunkVersion version_of_draft(Key shard, std::uint64_t chunk, const struct timespec& modified);
  /// The chunk is written or removed: its version and its bytes change at once to who asks for
  /// `writes_of` before and after, and begins anew where it is another number.
  void written(Key shard, std::uint64_t chunk, const struct timespec& modified);
  /// How often the chunk was written, or one that shares its counter.
  [[nodiscard]] std::uint32_t writes_of(Key shard, std::uint64_t chunk) const;
  /// A commit is about to replace the file of the shard, and no chunk changes by that but those
  /// that were written(). Until it is republished, some see this one and some that. `chunks`: all
  /// that it puts there, and when they were written, some perhaps by an earlier mount, or while the
  /// array was shown otherwise.
  void replacing(Key shard, const FileIdentity& before, const FileIdentity& after,
                 const Chunks& chunks);
  /// The commit has replaced it.
  void republished(Key shard, const FileIdentity& before, const FileIdentity& after);
  /// Shards and written chunks that are kept, and about how many bytes that takes.
  [[nodiscard]] std::size_t kept() const { return kept_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Shard {
    std::list<Key>::iterator use;
    bool known = false;         ///< Whether the next four are.
    std::uint64_t digest = 0;   ///< Of the file that is the shard,
    std::uint64_t version = 0;  ///< and what its chunks have that were not written.
    struct timespec modified {};
    std::optional<std::uint64_t> next;  ///< The digest that a commit is giving to it.
    std::unordered_map<std::uint64_t, ChunkVersion> written;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  using Shards = std::unordered_map<Key, Shard, Hash>;
  static constexpr std::size_t kEpochs = 4096;
  using Counters = std::array<std::atomic<std::uint32_t>, kEpochs>;

  [[nodiscard]] std::uint64_t version_by_digest(const Key& shard, std::uint64_t digest) const;
  static std::size_t counter_of(const Key& shard, std::uint64_t chunk);
  Shards::iterator find(const Key& shard);
  Shard& find_or_make(const Key& shard);
  void set(Shard& shard, const Key& key, const ShardState& state) const;
  void drop(Shards::iterator shard);
  void make_room(const Shard& keep);

  const std::size_t most_;
  Counters epochs_{};
  Counters writes_{};
  std::atomic<std::size_t> kept_{0};
  mutable TableMutex mutex_;
  Shards shards_;              ///< Guarded by mutex_.
  std::list<Key> uses_;        ///< The one written last first; guarded by mutex_.
  std::uint64_t written_ = 0;  ///< Chunks written so far; guarded by mutex_.
};

/// The versions of one array.
class ArrayVersions {
 public:
  /// `array`: a digest of its path and generation.
  ArrayVersions(std::shared_ptr<ShardVersions> all, std::uint64_t array)
      : all_(std::move(all)), array_(array) {}
  [[nodiscard]] ChunkVersion version_of(std::uint64_t cell, std::uint64_t chunk,
                                        const ShardState& state) const {
    return all_->version_of({array_, cell}, chunk, state);
  }
  [[nodiscard]] ChunkVersion version_of_draft(std::uint64_t cell, std::uint64_t chunk,
                                              const struct timespec& modified) const {
    return all_->version_of_draft({array_, cell}, chunk, modified);
  }
  [[nodiscard]] std::uint32_t writes_of(std::uint64_t cell, std::uint64_t chunk) const {
    return all_->writes_of({array_, cell}, chunk);
  }
  void written(std::uint64_t cell, std::uint64_t chunk, const struct timespec& modified) const {
    all_->written({array_, cell}, chunk, modified);
  }
  void replacing(std::uint64_t cell, const FileIdentity& before, const FileIdentity& after,
                 const ShardVersions::Chunks& chunks) const {
    all_->replacing({array_, cell}, before, after, chunks);
  }
  void republished(std::uint64_t cell, const FileIdentity& before,
                   const FileIdentity& after) const {
    all_->republished({array_, cell}, before, after);
  }

 private:
  std::shared_ptr<ShardVersions> all_;
  std::uint64_t array_;
};

}  // namespace zarrfs
