#include "core/formats/blosc2_frame.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/metadata/json_fields.h"
#include "core/zarr/layout.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kMaxHeader = std::uint64_t{16} << 20U;
constexpr std::uint64_t kMaxBlosc2Chunk = std::uint64_t{1} << 31U;
constexpr std::size_t kMaxBlosc2Rank = 16;
constexpr std::string_view kMagic{
    "\xa8"
    "b2frame\0",
    9};
constexpr std::string_view kLayer = "b2nd";

template <class Number>
std::uint64_t big(ByteView bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes.first(sizeof(Number))) value = value << 8U | byte;
  return value;
}

tl::unexpected<Error> bad_frame(const std::string& what) {
  return fail(Fault::kDamaged, "the frame's header: " + what);
}

/// Reads the values of msgpack that stand one behind the other.
class Words {
 public:
  explicit Words(ByteView rest) : rest_(rest) {}

  Result<ByteView> take(std::uint64_t count) {
    if (count > rest_.size()) return bad_frame("it ends within a value");
    const ByteView taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  Result<std::uint8_t> byte() {
    ZARRFS_TRY(const ByteView one, take(1));
    return one[0];
  }

  /// A positive integer of the kind that `marker` begins: int32 (0xd2) or int64 (0xd3).
  Result<std::uint64_t> number(std::uint8_t marker, const char* what) {
    ZARRFS_TRY(const std::uint8_t found, byte());
    if (found != marker) return bad_frame(std::string(what) + " is no number");
    ZARRFS_TRY(const ByteView bytes, take(marker == 0xd2 ? 4 : 8));
    const std::uint64_t value =
        marker == 0xd2 ? big<std::uint32_t>(bytes) : big<std::uint64_t>(bytes);
    if (value <= (marker == 0xd2 ? kMaxSize >> 32U : kMaxSize)) return value;
    return bad_frame(std::string(what) + " is negative");
  }

  /// A list of `rank` such numbers.
  Result<std::vector<std::uint64_t>> numbers(std::size_t rank, std::uint8_t marker,
                                             const char* what) {
    ZARRFS_TRY(const std::uint8_t head, byte());
    if (head != (0x90U | rank)) {
      return bad_frame(std::string(what) + " is no list of " + std::to_string(rank));
    }
    std::vector<std::uint64_t> list(rank);
    for (std::uint64_t& one : list) {
      ZARRFS_TRY(one, number(marker, what));
    }
    return list;
  }

 private:
  ByteView rest_;
};

/// The contents of the layer called b2nd; nothing where there is none.
Result<std::optional<ByteView>> find_layer(ByteView header) {
  Words words(header.subspan(kBlosc2FixedHeader));
  ZARRFS_TRY(const ByteView head, words.take(7));  // list, size of what follows, map
  if (head[0] != 0x93 || head[1] != 0xcd || head[4] != 0xde)
    return bad_frame("its layers are no list");
  const std::uint64_t layers = big<std::uint16_t>(head.subspan(5));
  for (std::uint64_t i = 0; i < layers; ++i) {
    ZARRFS_TRY(const std::uint8_t length, words.byte());
    if ((length & 0xe0U) != 0xa0) return bad_frame("a layer has no name");
    ZARRFS_TRY(const ByteView name, words.take(length & 0x1fU));
    ZARRFS_TRY(const std::uint64_t offset, words.number(0xd2, "the place of a layer"));
    if (!std::equal(name.begin(), name.end(), kLayer.begin(), kLayer.end())) continue;
    if (offset > header.size()) return bad_frame("a layer lies behind it");
    Words layer(header.subspan(static_cast<std::size_t>(offset)));
    ZARRFS_TRY(const ByteView size, layer.take(5));
    if (size[0] != 0xc6) return bad_frame("a layer has no bytes");
    ZARRFS_TRY(const ByteView bytes, layer.take(big<std::uint32_t>(size.subspan(1))));
    return bytes;
  }
  return std::nullopt;
}

Result<void> parse_layer(ByteView bytes, Blosc2Frame& frame) {
  Words words(bytes);
  ZARRFS_TRY(const ByteView head, words.take(3));  // list, version, rank
  const std::size_t rank = head[2];
  if ((head[0] & 0xf0U) != 0x90 || rank > kMaxBlosc2Rank) {
    return bad_frame("layer b2nd has " + std::to_string(rank) + " dimensions");
  }
  if (rank > 15) return fail(Fault::kUnsupported, "arrays of 16 dimensions");
  ZARRFS_TRY(frame.shape, words.numbers(rank, 0xd3, "b2nd.shape"));
  ZARRFS_TRY(frame.blocks.chunk, words.numbers(rank, 0xd2, "b2nd.chunkshape"));
  ZARRFS_TRY(frame.blocks.block, words.numbers(rank, 0xd2, "b2nd.blockshape"));
  ZARRFS_TRY(const ByteView kind, words.take(2));
  if (kind[0] != 0) {
    return fail(Fault::kUnsupported,
                "b2nd.dtype_format is " + std::to_string(kind[0]) + ", not 0, which is numpy's");
  }
  if (kind[1] != 0xdb) return bad_frame("b2nd.dtype is no text");
  ZARRFS_TRY(const ByteView length, words.take(4));
  ZARRFS_TRY(const ByteView text, words.take(big<std::uint32_t>(length)));
  frame.dtype.assign(text.begin(), text.end());
  return {};
}

/// Sizes that later arithmetic relies on.
Result<void> check_sizes(const Blosc2Frame& frame, std::uint64_t chunk_size) {
  const Blosc2Blocks& blocks = frame.blocks;
  bool empty = false;
  for (std::size_t axis = 0; axis < frame.shape.size(); ++axis) {
    empty = empty || frame.shape[axis] == 0;
  }
  for (std::size_t axis = 0; axis < frame.shape.size(); ++axis) {
    if (!empty && (blocks.chunk[axis] == 0 || blocks.block[axis] == 0)) {
      return bad_frame("b2nd.chunkshape or b2nd.blockshape is 0");
    }
  }
  if (empty) return {};
  const auto stored = blocks.stored_bytes();
  if (!stored || *stored > kMaxBlosc2Chunk) {
    return fail(Fault::kUnsupported, "b2nd.chunkshape: a chunk has more than 2 GiB");
  }
  if (*stored != chunk_size) {
    return bad_frame("a chunk of b2nd.chunkshape has " + std::to_string(*stored) +
                     " bytes, and chunk_size is " + std::to_string(chunk_size));
  }
  const std::vector<std::uint64_t> counts = frame.counts();
  const auto chunks = checked_product(counts);
  if (chunks && *chunks <= kMaxChunks) return {};
  return fail(Fault::kUnsupported, "b2nd.shape: more than 2^48 chunks");
}

}  // namespace

std::uint64_t Blosc2Blocks::chunk_bytes() const {
  std::uint64_t bytes = item;
  for (const std::uint64_t length : chunk) bytes *= length;
  return bytes;
}

std::optional<std::uint64_t> Blosc2Blocks::stored_bytes() const {
  std::vector<std::uint64_t> lengths{item};
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    lengths.push_back(divide_up(chunk[axis], block[axis]) * block[axis]);  // both of 31 bits
  }
  return checked_product(lengths);
}

std::vector<std::uint64_t> Blosc2Frame::counts() const {
  std::vector<std::uint64_t> counts(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    counts[axis] = divide_up(shape[axis], std::max<std::uint64_t>(blocks.chunk[axis], 1));
  }
  return counts;
}

bool Blosc2Frame::same_array(const Blosc2Frame& other) const {
  return shape == other.shape && blocks.chunk == other.blocks.chunk &&
         blocks.block == other.blocks.block && blocks.item == other.blocks.item &&
         dtype == other.dtype;
}

std::optional<std::uint64_t> blosc2_header_bytes(ByteView fixed_header) {
  if (fixed_header.size() < kBlosc2FixedHeader || (fixed_header[0] & 0xf0U) != 0x90) {
    return std::nullopt;
  }
  const bool ours = std::equal(
      kMagic.begin(), kMagic.end(), fixed_header.begin() + 1,
      [](char wanted, std::uint8_t found) { return static_cast<std::uint8_t>(wanted) == found; });
  if (!ours || fixed_header[10] != 0xd2) return std::nullopt;
  const std::uint64_t length = big<std::uint32_t>(fixed_header.subspan(11));
  return length >= kBlosc2FixedHeader && length <= kMaxHeader ? std::optional(length)
                                                              : std::nullopt;
}

Result<std::optional<Blosc2Frame>> parse_blosc2_frame(ByteView header) {
  constexpr std::size_t kFrameBytes = 16;
  constexpr std::size_t kFlags = 25;
  constexpr std::size_t kType = 26;
  constexpr std::size_t kChunkArea = 39;
  constexpr std::size_t kItem = 48;
  constexpr std::size_t kChunkSize = 58;
  Blosc2Frame frame;
  frame.header_bytes = header.size();
  frame.frame_bytes = big<std::uint64_t>(header.subspan(kFrameBytes));
  frame.chunk_area = big<std::uint64_t>(header.subspan(kChunkArea));
  frame.blocks.item = big<std::uint32_t>(header.subspan(kItem));
  ZARRFS_TRY(const auto layer, find_layer(header));
  if (!layer) return std::nullopt;
  if ((header[kType] & 0x0fU) != 0) {
    return fail(Fault::kUnsupported, "the frame's chunks lie in files of their own");
  }
  ZARRFS_CHECK(parse_layer(*layer, frame));
  const bool empty = checked_product(frame.shape) == std::uint64_t{0};
  if ((header[kFlags] & 0x40U) != 0 && !empty) {
    return fail(Fault::kUnsupported, "chunks of several sizes");
  }
  if (frame.blocks.item == 0) return bad_frame("type_size is 0");
  if (frame.chunk_area > kMaxSize || frame.frame_bytes > kMaxSize ||
      frame.chunk_area + frame.header_bytes > frame.frame_bytes) {
    return bad_frame("chunks of " + std::to_string(frame.chunk_area) + " bytes do not lie in " +
                     std::to_string(frame.frame_bytes));
  }
  ZARRFS_CHECK(check_sizes(frame, big<std::uint32_t>(header.subspan(kChunkSize))));
  return frame;
}

Blosc2Index::Blosc2Index(const Blosc2Frame& frame, ByteView offsets, const FileIdentity& file)
    : frame_(frame), file_(file) {
  for (std::size_t at = 0; at + 8 <= offsets.size(); at += 8) {
    const auto offset = load_little<std::uint64_t>(offsets.subspan(at));
    offsets_.push_back(offset);
    if (offset < frame.chunk_area) begins_.push_back(frame.header_bytes + offset);
  }
  std::sort(begins_.begin(), begins_.end());
}

std::uint64_t Blosc2Index::room_at(std::uint64_t offset) const {
  const std::uint64_t end = frame_.header_bytes + frame_.chunk_area;
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), offset);
  return (next == begins_.end() ? end : *next) - std::min(offset, end);
}

Result<Blosc2Index::Place> Blosc2Index::find(std::uint64_t chunk) const {
  const std::uint64_t offset = offsets_.at(static_cast<std::size_t>(chunk));
  const bool special = offset >> 63U != 0;
  switch (special ? offset >> 56U : 0) {
    case 0: break;
    case 0x81:
    case 0x84: return Place{Place::Kind::kZeros};  // also of chunks that were never written
    case 0x82: return Place{Place::Kind::kNans};
    default:
      return fail(Fault::kDamaged, "chunk " + std::to_string(chunk) + " is of the special kind " +
                                       std::to_string(offset >> 56U & 0x7fU) +
                                       ", which nothing is known of");
  }
  if (lies_within({offset, kBlosc2ChunkHeader}, frame_.chunk_area)) {
    return Place{Place::Kind::kStored, frame_.header_bytes + offset};
  }
  return fail(Fault::kDamaged, "chunk " + std::to_string(chunk) + " at " + std::to_string(offset) +
                                   " does not lie in the " + std::to_string(frame_.chunk_area) +
                                   " bytes of chunks");
}

Bytes joined_blocks(const Blosc2Blocks& blocks, ByteView stored) {
  const std::size_t rank = blocks.chunk.size();
  Bytes out(static_cast<std::size_t>(blocks.chunk_bytes()));
  if (rank == 0) {
    std::copy_n(stored.begin(), out.size(), out.begin());
    return out;
  }
  std::vector<std::uint64_t> at(rank);      // of the block, in elements
  std::vector<std::uint64_t> within(rank);  // the block
  const std::uint64_t row = blocks.block.back() * blocks.item;
  for (std::size_t from = 0; from + row <= stored.size(); from += static_cast<std::size_t>(row)) {
    std::uint64_t to = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::uint64_t place = at[axis] + within[axis];
      inside = inside && place < blocks.chunk[axis];
      to = to * blocks.chunk[axis] + place;
    }
    const std::uint64_t length =
        std::min(blocks.block.back(), blocks.chunk.back() - at.back()) * blocks.item;
    if (inside)
      std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(from), length,
                  out.begin() + static_cast<std::ptrdiff_t>(to * blocks.item));
    std::size_t axis = rank - 1;  // the next row: of this block, or the first of the next one
    while (axis-- > 0 && ++within[axis] == blocks.block[axis]) within[axis] = 0;
    if (axis != static_cast<std::size_t>(-1)) continue;
    for (axis = rank; axis-- > 0;) {
      at[axis] += blocks.block[axis];
      if (at[axis] < blocks.chunk[axis]) break;
      at[axis] = 0;
    }
  }
  return out;
}

Result<Bytes> blosc2_nans(std::uint64_t bytes, std::uint64_t item) {
  constexpr std::array<std::uint8_t, 8> kDouble{0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
  constexpr std::array<std::uint8_t, 4> kSingle{0, 0, 0xc0, 0x7f};
  constexpr std::array<std::uint8_t, 2> kHalf{0, 0x7e};
  const ByteView one = item % 8 == 0 ? ByteView(kDouble)
                       : item == 4   ? ByteView(kSingle)
                       : item == 2   ? ByteView(kHalf)
                                     : ByteView{};
  if (one.empty()) {
    return fail(Fault::kDamaged,
                "a chunk of NaNs, and its elements have " + std::to_string(item) + " bytes");
  }
  Bytes out(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = one[i % one.size()];
  return out;
}

}  // namespace zarrfs
