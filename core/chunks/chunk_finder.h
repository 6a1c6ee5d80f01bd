// From a chunk as shown to its bytes: the one place that asks where a chunk is, how long it looks,
// and what it holds. Life of a read: shown coordinates -> ArrayReader::find_chunk -> range or
// absence -> the presentation's rule -> size, bytes.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/chunks/array_view.h"
#include "core/chunks/chunk_context.h"

namespace zarrfs {

/// A shown chunk that exists.
struct ShownChunk {
  std::uint64_t size = 0;     ///< Of the bytes shown.
  std::uint64_t version = 0;  ///< Of the shards it comes from.
  struct stat stored {};      ///< Times and owner: of the shard, or of the array's document.
  std::optional<ChunkBytes>
      bytes;  ///< Where one stored chunk gives the bytes; nothing for fill and re-chunked chunks.
  bool is_fill = false;         ///< Not stored: the presentation's fill chunk is shown.
  bool is_draft = false;        ///< Written through the mount and not published yet.
  bool is_quarantined = false;  ///< A draft that cannot be a chunk: shown as it was written.
};

/// The bytes of a shown chunk: `range` of `file`, or, where that is null, `bytes`.
struct ChunkContent {
  std::shared_ptr<const File> file;
  ByteRange range{};
  std::shared_ptr<const Bytes> bytes;
};

class ChunkFinder {
 public:
  explicit ChunkFinder(ChunkContext& context) : context_(context) {}

  /// Nothing where the chunk is proven absent and not materialised. kDamaged, naming shard and
  /// entry, where it cannot be told.
  Result<std::optional<ShownChunk>> find_at(const ArrayView& array, const Coordinates& chunk,
                                            const ShownPlace& place);
  Result<std::optional<ShownChunk>> find(const ArrayView& array, const Coordinates& chunk) {
    return find_at(array, chunk, shown_place(array, chunk));
  }

  /// Whether a listing names the chunk: it exists, or it cannot be told. `stored_only`: whether
  /// it is stored, or that cannot be told. `hand`: see ArrayReader::find_chunk.
  bool is_listed(const ArrayView& array, const Coordinates& chunk, bool stored_only,
                 ShardInHand* hand);

  /// A listing names what could not be told.
  void named_untold() { ++untold_; }
  /// How often that was so: while it stays the same, listings name what exists.
  [[nodiscard]] std::uint64_t untold() const { return untold_; }

  /// What a reader of the found chunk gets: see ChunkContent.
  Result<ChunkContent> content_of(const ArrayView& array, const Coordinates& chunk,
                                  const ShownChunk& found);

  /// All bytes of what find() has found.
  Result<std::shared_ptr<const Bytes>> bytes_of(const ArrayView& array, const Coordinates& chunk,
                                                const ShownChunk& found);

  /// Unpublished writes; null where the view only reads.
  [[nodiscard]] const WriteBuffer* writes() const { return context_.writes.get(); }

  /// The name of a chunk in messages: "a/b chunk 0.1.2".
  static std::string describe(const ArrayView& array, const Coordinates& chunk);

 private:
  Result<std::optional<ShownChunk>> find_stored(const ArrayView& array, const Coordinates& chunk,
                                                const ChunkPlace& place);
  Result<std::optional<ShownChunk>> find_rechunked(const ArrayView& array, const Coordinates& chunk,
                                                   std::uint64_t number);
  /// What an unpublished write says of the chunk; nothing where none does.
  Result<std::optional<std::optional<ShownChunk>>> find_draft(const ArrayView& array,
                                                              const Coordinates& chunk,
                                                              const ChunkPlace& place) const;
  static Result<std::uint64_t> size_shown(const ArrayView& array, const Coordinates& chunk,
                                          std::uint64_t stored);
  [[nodiscard]] std::optional<ShownChunk> fill_or_absent(const ArrayView& array) const;
  [[nodiscard]] ShardState state_of(const struct stat& shard) const;
  [[nodiscard]] Result<ShardState> shard_state(const ArrayView& array,
                                               const std::string& path) const;
  [[nodiscard]] Result<ChunkVersion> version_of(const ArrayView& array, std::uint64_t number,
                                                const ChunkPlace& place,
                                                const ShownChunk& found) const;
  [[nodiscard]] Result<ChunkVersion> version_of_rechunked(const ArrayView& array,
                                                          const Coordinates& chunk,
                                                          std::uint64_t number,
                                                          const ShownChunk& found) const;

  [[nodiscard]] Result<ShardState> state_of_overlapped(const ArrayView& array,
                                                       const Coordinates& chunk) const;
  [[nodiscard]] Result<Bytes> read_overlapped(const ArrayView& array,
                                              const Coordinates& chunk) const;

  static Result<void> check_frame(const ArrayView& array, const Coordinates& chunk,
                                  const ChunkBytes& stored);

  ChunkContext& context_;
  std::atomic<std::uint64_t> untold_{0};
};

}  // namespace zarrfs
