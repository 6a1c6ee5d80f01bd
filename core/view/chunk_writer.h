// From the bytes that a program writes into a chunk file to the write buffer: the presentation
// undone, what cannot be a chunk kept apart. Life of a write: bytes shown -> Presentation::unshow
// -> validation -> WriteBuffer::put. Thread-safe.
#pragma once

#include "core/view/node_cache.h"

namespace zarrfs {

class ChunkWriter {
 public:
  explicit ChunkWriter(ViewShared& shared) : shared_(shared) {}

  /// kReadOnly, with the reason, where the array's chunks cannot be turned back.
  static Result<void> check_writable(const NodeState& array);
  /// The most bytes that a chunk file of the array may have; 0: no bound is known.
  static std::uint64_t most_bytes(const NodeState& array);

  /// The chunk survives the death of this process when it returns. Bytes that cannot be a chunk
  /// are kept and shown, but not published. `modified`: when the file was written; its st_mtime
  /// before the commit and after.
  Result<void> put(const NodeState& array, const Coordinates& chunk, ByteView shown,
                   const struct timespec& modified);
  Result<void> remove(const NodeState& array, const Coordinates& chunk);
  /// Survives a power cut; an error also for bytes that cannot be a chunk.
  Result<void> sync(const NodeState& array, const Coordinates& chunk);
  /// Rewrites the chunk's shard now.
  Result<void> publish(const NodeState& array, const Coordinates& chunk);

  /// Deletes every chunk that lies wholly outside `shape`, in the shards too.
  Result<void> remove_outside(const NodeState& array, const std::vector<std::uint64_t>& shape);

 private:
  static Result<ByteView> to_store(const NodeState& array, ByteView shown, Bytes& memory);
  [[nodiscard]] static bool is_chunk(const NodeState& array, const ChunkPlace& place,
                                     ByteView stored);
  static void note(const NodeState& array, const Coordinates& chunk, const ChunkPlace& place,
                   const struct timespec& modified);

  ViewShared& shared_;
};

}  // namespace zarrfs
