// Blosc2's frames: what their headers tell, where chunks lie, and elements in C order.
#include "core/formats/blosc2_frame.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace zarrfs {
namespace {

Bytes golden_frame(const std::string& name) {
  std::ifstream file(std::string(ZARRFS_SOURCE_DIR) + "/tests/golden/blosc2/" + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Bytes header_of(const std::string& name) {
  Bytes file = golden_frame(name);
  const auto length = blosc2_header_bytes(file);
  EXPECT_TRUE(length);
  file.resize(static_cast<std::size_t>(length.value_or(0)));
  return file;
}

TEST(Blosc2Frame, TellsTheArray) {
  const auto frame = parse_blosc2_frame(header_of("plane.b2nd"));
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->shape, (std::vector<std::uint64_t>{17, 9}));
  EXPECT_EQ((*frame)->blocks.chunk, (std::vector<std::uint64_t>{8, 4}));
  EXPECT_EQ((*frame)->blocks.block, (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ((*frame)->blocks.stored_bytes(), 9U * 4U * 2U);
  EXPECT_EQ((*frame)->dtype, "<i2");
  EXPECT_EQ((*frame)->counts(), (std::vector<std::uint64_t>{3, 3}));
  const auto empty = parse_blosc2_frame(header_of("empty.b2nd"));
  ASSERT_TRUE(empty && *empty) << empty.error().message;
  EXPECT_EQ((*empty)->counts(), (std::vector<std::uint64_t>{0, 1}));
}

TEST(Blosc2Frame, IsNotWhatBeginsOtherwise) {
  Bytes bytes = golden_frame("plane.b2nd");
  EXPECT_FALSE(blosc2_header_bytes(ByteView(bytes).first(kBlosc2FixedHeader - 1)));
  bytes[3] = 'x';
  EXPECT_FALSE(blosc2_header_bytes(bytes));
}

TEST(Blosc2Frame, EveryChangedByteIsRefusedOrAnotherArrayThatCanBeUsed) {
  const Bytes header = header_of("volume.b2nd");
  for (std::size_t at = 0; at < header.size(); ++at) {
    for (const std::uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes changed = header;
      changed[at] = value;
      const auto frame = parse_blosc2_frame(changed);
      if (!frame || !*frame) continue;
      const auto stored = (*frame)->blocks.stored_bytes();
      EXPECT_TRUE(stored && *stored <= std::uint64_t{1} << 31U) << "byte " << at;
      EXPECT_LE((*frame)->header_bytes + (*frame)->chunk_area, (*frame)->frame_bytes);
    }
    EXPECT_FALSE(at > 112 && parse_blosc2_frame(ByteView(header).first(at))) << "cut at " << at;
  }
}

TEST(Blosc2Index, KnowsSpecialChunksAndRefusesOthers) {
  Blosc2Frame frame;
  frame.header_bytes = 100;
  frame.chunk_area = 50;
  Bytes offsets;
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{0x81} << 56U, std::uint64_t{0x82} << 56U,
        std::uint64_t{0x84} << 56U, std::uint64_t{0x85} << 56U, std::uint64_t{35}}) {
    append_little(offsets, offset);
  }
  using Kind = Blosc2Index::Place::Kind;
  const Blosc2Index index(frame, offsets, {});
  ASSERT_TRUE(index.find(0));
  EXPECT_EQ(index.find(0)->offset, 100U);
  EXPECT_EQ(index.find(1)->kind, Kind::kZeros);
  EXPECT_EQ(index.find(2)->kind, Kind::kNans);
  EXPECT_EQ(index.find(3)->kind, Kind::kZeros);
  EXPECT_EQ(index.find(4).error().fault, Fault::kDamaged);
  EXPECT_EQ(index.find(5).error().fault, Fault::kDamaged);
}

TEST(Blosc2Blocks, AreJoinedToAChunk) {
  // A chunk of 3x3 in blocks of 2x2: four whole blocks, of which the chunk cuts three.
  const Blosc2Blocks blocks{{3, 3}, {2, 2}, 1};
  const Bytes stored{0, 1, 3, 4, 2, 99, 5, 99, 6, 7, 99, 99, 8, 99, 99, 99};
  EXPECT_EQ(joined_blocks(blocks, stored), (Bytes{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(joined_blocks({{}, {}, 2}, Bytes{1, 2}), (Bytes{1, 2}));
  EXPECT_EQ(joined_blocks({{5}, {2}, 1}, Bytes{0, 1, 2, 3, 4, 99}), (Bytes{0, 1, 2, 3, 4}));
  const Blosc2Blocks deep{{2, 2, 2}, {1, 2, 1}, 1};
  EXPECT_EQ(joined_blocks(deep, Bytes{0, 2, 1, 3, 4, 6, 5, 7}), (Bytes{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Blosc2Nans, AreOfTheElementsSize) {
  EXPECT_EQ(blosc2_nans(4, 4).value(), (Bytes{0, 0, 0xc0, 0x7f}));
  EXPECT_EQ(blosc2_nans(16, 8).value()[15], 0x7f);
  EXPECT_FALSE(blosc2_nans(3, 1));
}

}  // namespace
}  // namespace zarrfs
