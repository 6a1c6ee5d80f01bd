// Reading ahead in shards at a server, where each request waits long, and bytes are dear. Shards of
// an array are read alike: what was read of the shards before is asked for of the next one, in as
// few requests as that takes, and shards that follow each other in the grid are opened in advance.
// What goes through a box of chunks (see Sweep) is asked for as far ahead as it has come. Where
// nothing tells, the largest block of a shard of which more than a quarter was opened is asked for,
// and what lies behind a long run. Thread-safe. Its lock is not held across I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/chunks/far_walk.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

class FarAhead {
 public:
  /// `window`: bytes asked for at most at once; 0: none.
  explicit FarAhead(std::uint64_t window) : window_(window) {}

  /// A chunk is about to be read, which lies in a file that is not near.
  void opened(ArrayReader& reader, const ChunkPlace& place, const ChunkBytes& bytes);

 private:
  struct Reading {
    FarWalk walk;
    std::uint64_t last = 0;  // the number of the chunk that was opened last
  };
  Reading& reading_of(const std::string& path);
  [[nodiscard]] std::uint64_t share_of(std::uint64_t room) const;
  void fetch_swept(ArrayReader& reader, const FarAsk& ask, const File& file);
  void fetch_opened(ArrayReader& reader, FarAsk ask);
  static void fetch_alike(ArrayReader& reader, const Coordinates& cell, const FarPlan& plan,
                          const File& file);
  static void open_next(const ArrayReader& reader, const FarPlan& plan);

  const std::uint64_t window_;
  TableMutex mutex_;
  std::unordered_map<std::string, Reading> readings_;  // by the array's path
  std::uint64_t chunks_ = 0;                           // opened so far
};

}  // namespace zarrfs
