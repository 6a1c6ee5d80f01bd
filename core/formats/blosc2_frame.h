// Blosc2's contiguous frames that hold an n-dimensional array: what the header says of the array,
// where its chunks lie, and the order of the elements within one.
// Source: Blosc/c-blosc2, README_CFRAME_FORMAT.rst, README_B2ND_METALAYER.rst.
// Pure functions and immutable values; thread-safe. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// The bytes of a frame's header that stand at the same place in each.
inline constexpr std::uint64_t kBlosc2FixedHeader = 87;
/// The header of a chunk, of which its size is a part.
inline constexpr std::uint64_t kBlosc2ChunkHeader = 16;

/// How the elements of an array lie in its chunks. A chunk has all its blocks one after the other,
/// each whole, also where the chunk cuts it.
struct Blosc2Blocks {
  std::vector<std::uint64_t> chunk;
  std::vector<std::uint64_t> block;  ///< At least 1 along each axis.
  std::uint64_t item = 1;            ///< Bytes of an element.

  [[nodiscard]] std::uint64_t chunk_bytes() const;
  /// Of the blocks of a chunk; nothing where they are more than 64 bits count.
  [[nodiscard]] std::optional<std::uint64_t> stored_bytes() const;
};

struct Blosc2Frame {
  std::uint64_t header_bytes = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t chunk_area = 0;  ///< Bytes of all chunks, which stand behind the header.
  std::vector<std::uint64_t> shape;
  Blosc2Blocks blocks;
  std::string dtype;  ///< As numpy spells it.

  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  /// Whether both say the same of the array.
  [[nodiscard]] bool same_array(const Blosc2Frame& other) const;
};

/// The length of the header whose first bytes these are; nothing where they are no frame's.
std::optional<std::uint64_t> blosc2_header_bytes(ByteView fixed_header);

/// The array that a header of blosc2_header_bytes() tells; nothing where the frame holds none.
/// kDamaged or kUnsupported, naming the field, where it cannot be used. What was parsed has chunks
/// of at most 2 GiB, and at most 2^48 of them.
Result<std::optional<Blosc2Frame>> parse_blosc2_frame(ByteView header);

/// Where the chunks of one frame lie.
class Blosc2Index final : public Shard {
 public:
  /// A chunk's place in the file, or the byte that is repeated in place of it.
  struct Place {
    enum class Kind { kStored, kZeros, kNans };
    Kind kind = Kind::kStored;
    std::uint64_t offset = 0;  ///< Of a stored chunk's header, which lies in the chunks' area.
  };
  /// `offsets` is the decoded index: a number of 64 bits for each chunk.
  Blosc2Index(const Blosc2Frame& frame, ByteView offsets, const FileIdentity& file);
  [[nodiscard]] FileIdentity identity() const override { return file_; }
  [[nodiscard]] std::size_t memory() const override {
    return sizeof(*this) + (offsets_.size() + begins_.size()) * sizeof(std::uint64_t);
  }
  /// Of a chunk below the number of offsets. kDamaged, with numbers, where no chunk can be there.
  [[nodiscard]] Result<Place> find(std::uint64_t chunk) const;
  /// The bytes from a chunk's header at `offset` up to the next chunk, or to the end of the area.
  [[nodiscard]] std::uint64_t room_at(std::uint64_t offset) const;
  [[nodiscard]] const Blosc2Frame& frame() const { return frame_; }

 private:
  Blosc2Frame frame_;
  FileIdentity file_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t> begins_;  ///< Those of stored chunks, in order.
};

/// A chunk in C order, of its blocks (stored_bytes() of them).
Bytes joined_blocks(const Blosc2Blocks& blocks, ByteView stored);

/// Bytes that a chunk of NaNs decodes to: float64 where `item` is a multiple of 8, else float32 or
/// float16. kDamaged for other sizes.
Result<Bytes> blosc2_nans(std::uint64_t bytes, std::uint64_t item);

}  // namespace zarrfs
