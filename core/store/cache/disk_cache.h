// Ranges of objects in a directory, for later runs and for other mounts. What is read is checked:
// after a kill or a power cut, bytes that did not get there are missing, never wrong. Bounded: the
// objects unused for longest go first. Processes may share a directory. A cache that cannot be
// read or written is as an empty one.
//
// DIR/zarrfs-1/ab/<hash>.data holds the bytes at the places that they have in the object,
// <hash>.index records of 32 bytes, each with the checksum of the range it names and its own;
// <hash>.info what was known about a URL. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/lock_order.h"
#include "core/base/recently_used.h"
#include "core/base/result.h"
#include "core/store/http/object_answer.h"

namespace zarrfs {

class DiskCache {
 public:
  /// Makes the directory, for its owner alone. kDenied where DIR/zarrfs-1 is another user's, or
  /// open to others, or a link: who can write to it chooses what is read.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& directory,
                                                 std::uint64_t max_bytes);

  /// All of `range`, if it is here and right.
  std::optional<Bytes> find(const std::string& object, ByteRange range);
  void keep(const std::string& object, std::uint64_t offset, ByteView bytes);

  /// What was seen under a URL last.
  std::optional<ObjectInfo> find_info(const std::string& url);
  void keep_info(const std::string& url, const ObjectInfo& info);

  /// Removes what was unused for longest until at most the allowed bytes are left.
  void make_room();
  [[nodiscard]] std::uint64_t hits() const { return hits_; }

 private:
  class Entry;
  DiskCache(std::string directory, std::uint64_t max_bytes);
  std::shared_ptr<Entry> entry_of(const std::string& object);
  [[nodiscard]] std::string path_of(const std::string& key, const char* suffix) const;

  const std::string directory_;
  const std::uint64_t max_bytes_;
  std::atomic<std::uint64_t> written_{0};  ///< Since room was made last.
  std::atomic<std::uint64_t> hits_{0};
  RecentlyUsed<std::string, std::shared_ptr<Entry>> entries_{64};
  RankedMutex<LockRank::kStore> making_room_;
};

/// A record of an index: 32 bytes.
struct CachedRange {
  ByteRange range;
  std::uint32_t checksum = 0;  ///< CRC-32C of the bytes.
};
Bytes encode_cached_range(const CachedRange& record);
/// Nothing where its own checksum is wrong or the range wraps. `bytes` are 32.
std::optional<CachedRange> decode_cached_range(ByteView bytes);

}  // namespace zarrfs
