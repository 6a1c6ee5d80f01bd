// Boxes of elements of an array, whatever its chunks are.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs::tools {

/// A box of elements: from `begin` (inclusive) to `end` (exclusive) on each axis.
struct Box {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint64_t> end;
  [[nodiscard]] std::vector<std::uint64_t> shape() const;
  /// Number of elements, or nothing where that does not fit 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
};

/// Elements in C order, widened to a type that numpy has (see widened()).
struct Values {
  Bytes fixed;                     ///< Elements of fixed length.
  std::vector<std::string> items;  ///< Elements of variable length.
  bool operator==(const Values&) const = default;
};

/// The chunks of an array as boxes, and their values. Thread-safe as its reader is.
class RegionReader {
 public:
  explicit RegionReader(ArrayReader& reader);

  /// Chunks along each axis.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// The grid of the chunks.
  [[nodiscard]] const Grid& grid() const { return grid_; }
  /// Elements of the largest chunk.
  [[nodiscard]] std::uint64_t largest_chunk() const;
  /// The elements of the array that chunk `chunk` holds: clipped to the array's shape.
  [[nodiscard]] Box box_of(std::span<const std::uint64_t> chunk) const;
  [[nodiscard]] ArrayReader& reader() const { return reader_; }
  /// Adds the linear numbers of the chunks that touch `box` to `numbers`, until there are more than
  /// `most`.
  void add_touched(const Box& box, std::uint64_t most, std::vector<std::uint64_t>& numbers) const;

  /// Whether all chunks that touch `box` are missing.
  [[nodiscard]] Result<bool> missing(const Box& box) const;
  /// The values within `box`; decodes each chunk that touches it once.
  [[nodiscard]] Result<Values> read(const Box& box) const;

 private:
  struct ChunkPart {
    std::vector<std::uint64_t> chunk;
    Box whole;  // the chunk as stored
    Box part;   // the part of it within the box
  };
  Result<void> for_each_chunk(const Box& box,
                              const std::function<Result<bool>(const ChunkPart&)>& visit) const;
  Result<void> copy_part(const ChunkPart& part, const Box& box, Values& out) const;

  ArrayReader& reader_;
  Grid grid_;  // of the chunks
  std::vector<std::uint64_t> counts_;
  std::uint32_t element_size_ = 0;  // after widening; 0: variable length
};

}  // namespace zarrfs::tools
