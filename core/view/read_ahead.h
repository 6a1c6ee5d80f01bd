// Reading ahead in shards: when chunks of a shard are opened one behind the other, the kernel is
// asked to fetch the bytes that follow. Thread-safe. No lock is held across I/O.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/zarr/array_reader.h"

namespace zarrfs {

class ReadAhead {
 public:
  /// `window`: bytes asked for at most at once; 0: none.
  explicit ReadAhead(std::uint64_t window) : window_(window) {}

  /// A chunk is about to be read.
  void opened(const ChunkBytes& chunk);

 private:
  struct Progress {
    std::uint64_t end = 0;      // of the last chunk opened
    std::uint64_t fetched = 0;  // up to where bytes were asked for
    int in_order = 0;           // chunks opened one behind the other
  };
  const std::uint64_t window_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Progress> shards_;  // by inode
};

}  // namespace zarrfs
