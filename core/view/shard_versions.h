// Versions of an array's stored objects: 0 at first, another one each time an object is seen to be
// another file than before. Node numbers of chunks carry the version, so that pages which the
// kernel keeps of one version are never shown as those of another.
//
// Memory is bounded: when too many objects are remembered, all are forgotten, and every object gets
// a version that was never used. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace zarrfs {

class ShardVersions {
 public:
  explicit ShardVersions(std::size_t max_remembered = std::size_t{1} << 17U)
      : max_remembered_(max_remembered) {}

  /// The version of object `number`, whose state has the digest `state` now.
  std::uint64_t version_of(std::uint64_t number, std::uint64_t state);

 private:
  struct Seen {
    std::uint64_t state = 0;
    std::uint64_t version = 0;
  };
  const std::size_t max_remembered_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Seen> seen_;
  std::uint64_t first_version_ = 0;
  std::uint64_t last_version_ = 0;
};

}  // namespace zarrfs
