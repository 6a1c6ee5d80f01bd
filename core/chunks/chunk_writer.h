// From the bytes that a program writes into a chunk file to the write buffer: the presentation
// undone, what cannot be a chunk kept apart. Life of a write: bytes shown -> Presentation::restore
// -> validation -> WriteBuffer::put. Thread-safe.
#pragma once

#include <functional>

#include "core/chunks/array_view.h"
#include "core/chunks/chunk_context.h"

namespace zarrfs {

class ChunkWriter {
 public:
  explicit ChunkWriter(ChunkContext& context) : context_(context) {}

  /// kReadOnly, with the reason, where the array's chunks cannot be turned back.
  static Result<void> check_writable(const ArrayView& array);
  /// The most bytes that a chunk file of the array may have; 0: no bound is known.
  static std::uint64_t most_bytes(const ArrayView& array);

  /// The chunk survives the death of this process when it returns. Bytes that cannot be a chunk
  /// are kept and shown, but not published. `modified`: when the file was written; its st_mtime
  /// before the commit and after.
  Result<void> put(const ArrayView& array, const Coordinates& chunk, ByteView shown,
                   const struct timespec& modified);
  /// The chunk is absent from the store then; or, where programs of the view take absent chunks
  /// for another element than the fill value, full of that element.
  Result<void> remove(const ArrayView& array, const Coordinates& chunk);
  /// The bytes of such a chunk, as stored. Only where the presentation has a removed_element.
  static Result<Bytes> removed_bytes(const ArrayView& array, const Coordinates& chunk);
  /// The chunk is absent from the store then, whatever the view shows.
  Result<void> erase(const ArrayView& array, const Coordinates& chunk);
  /// The path of the shard that holds the chunk, or would.
  static std::string shard_of(const ArrayView& array, const Coordinates& chunk);
  /// Survives a power cut; an error also for bytes that cannot be a chunk.
  Result<void> sync(const ArrayView& array, const Coordinates& chunk);
  /// Rewrites the chunk's shard now. kBusy where another writer's bytes of the chunk stay in it.
  Result<void> publish(const ArrayView& array, const Coordinates& chunk);

  /// Deletes every chunk that lies wholly outside `shape`, in the shards too.
  Result<void> remove_outside(const ArrayView& array, const std::vector<std::uint64_t>& shape);
  /// Deletes every chunk, in the shards too.
  Result<void> remove_all(const ArrayView& array);

 private:
  using Wanted = std::function<bool(const Coordinates& chunk)>;
  Result<void> remove_where(const ArrayView& array, const Wanted& wanted);
  static Result<ByteView> to_store(const ArrayView& array, ByteView shown, Bytes& memory);
  [[nodiscard]] static bool is_chunk(const ArrayView& array, const ChunkPlace& place,
                                     ByteView stored);
  /// Gives the chunk its next version, where the array's are kept.
  static std::function<void()> note_of(const ArrayView& array, const Coordinates& chunk,
                                       const ChunkPlace& place, const struct timespec& modified);

  ChunkContext& context_;
};

}  // namespace zarrfs
