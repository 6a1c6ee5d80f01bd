// Reading ahead in shards, in two ways. When chunks of a shard are opened one behind the other, the
// kernel is asked to fetch the bytes that follow. When several chunks close together are opened in
// whatever order (zarr-python 3 stores chunks in Morton order; several threads read at once), it is
// asked for the whole block of the shard around them. Bytes from a server cost more than those of a
// disk: there it takes a longer pattern, and what is asked for grows with it. Thread-safe. No lock
// is held across I/O.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
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
  struct Block {
    std::uint64_t last = 0;    // offset of the chunk opened last
    std::uint64_t opened = 0;  // bytes of chunks opened; kFetched once the block was asked for
  };
  struct Progress {
    std::uint64_t end = 0;                            // of the last chunk opened
    std::uint64_t fetched = 0;                        // up to where bytes were asked for
    int in_order = 0;                                 // chunks opened one behind the other
    std::uint64_t run = 0;                            // their bytes
    std::unordered_map<std::uint64_t, Block> blocks;  // by number
  };
  /// What is known of the file that a chunk lies in.
  struct Place {
    std::uint64_t size = 0;
    bool far = false;  // at a server
  };
  static bool is_fetched(const Progress& progress, std::uint64_t block);
  std::optional<ByteRange> behind(Progress& progress, ByteRange chunk, const Place& place) const;
  std::optional<ByteRange> around(Progress& progress, ByteRange chunk, const Place& place) const;

  const std::uint64_t window_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Progress> shards_;  // by inode
};

}  // namespace zarrfs
