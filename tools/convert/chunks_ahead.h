// Chunks on their way from the disk: asked for when they are added, used some while later, so that
// several reads are under way at once. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs::tools {

class ChunksAhead {
 public:
  using Use =
      std::function<Result<void>(const std::vector<std::uint64_t>& chunk, const ChunkBytes& bytes)>;

  /// `use` is called once for each chunk, in the order in which they were added.
  explicit ChunksAhead(Use use) : use_(std::move(use)) {}

  /// Uses the oldest chunks where many wait: at most 16 of them, of 8 MiB together.
  Result<void> add(const std::vector<std::uint64_t>& chunk, ChunkBytes bytes);
  /// Uses the chunks that still wait.
  Result<void> finish();

 private:
  struct Waiting {
    std::vector<std::uint64_t> chunk;
    ChunkBytes bytes;
  };

  void fetch(ChunkBytes& bytes);
  [[nodiscard]] bool many() const;
  Result<void> use_first();

  Use use_;
  std::deque<Waiting> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  ChunkBytes last_;  // that was fetched
};

}  // namespace zarrfs::tools
