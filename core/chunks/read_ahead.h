// Reading ahead in shards, in two ways. When chunks of a shard are opened one behind the other, the
// kernel is asked to fetch the bytes that follow. When several chunks close together are opened in
// whatever order (zarr-python 3 stores chunks in Morton order; several threads read at once), it is
// asked for the whole block of the shard around them. FarAhead does it at a server. Thread-safe.
// Its lock is not held across I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

class ReadAhead {
 public:
  /// `window`: bytes asked for at most at once; 0: none.
  explicit ReadAhead(std::uint64_t window) : window_(window) {}

  /// A chunk is about to be read.
  void opened(const ChunkBytes& chunk);

 private:
  struct Block {
    std::uint64_t last = 0;    // offset of the chunk opened last
    std::uint64_t opened = 0;  // bytes of chunks opened; kFetched once the block was asked for
  };
  struct Progress {
    std::uint64_t end = 0;                            // of the last chunk opened
    std::uint64_t fetched = 0;                        // up to where bytes were asked for
    int in_order = 0;                                 // chunks opened one behind the other
    std::unordered_map<std::uint64_t, Block> blocks;  // by number
  };
  std::optional<ByteRange> behind(Progress& progress, ByteRange chunk, std::uint64_t size) const;
  std::optional<ByteRange> around(Progress& progress, ByteRange chunk, std::uint64_t size) const;

  const std::uint64_t window_;
  TableMutex mutex_;
  std::unordered_map<std::uint64_t, Progress> shards_;  // by inode
};

}  // namespace zarrfs
