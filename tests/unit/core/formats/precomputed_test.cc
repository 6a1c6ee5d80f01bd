// The parts of Neuroglancer's precomputed format that need no store: places of chunks, indexes of
// minishards, labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/formats/images.h"
#include "core/formats/precomputed/precomputed_sharding.h"
#include "core/formats/precomputed/segmentation.h"
#include "core/formats/voxel_chunk.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Three = std::array<std::uint64_t, 3>;

Bytes numbers(const std::vector<std::uint64_t>& values) {
  Bytes bytes;
  for (const std::uint64_t value : values) append_little(bytes, value);
  return bytes;
}

Bytes words(const std::vector<std::uint32_t>& values) {
  Bytes bytes;
  for (const std::uint32_t value : values) append_little(bytes, value);
  return bytes;
}

PrecomputedSharding two_bits() {
  PrecomputedSharding sharding;
  sharding.minishard_bits = 2;
  sharding.shard_bits = 3;
  return sharding;
}

TEST(PrecomputedSharding, HashesAsMurmurHash3DoesElsewhere) {
  // Of mmh3 5.2 for Python: hash_bytes(value, 0, x64arch=False), its first eight bytes.
  EXPECT_EQ(murmurhash3_low64(0), 0x4772b084e028ae41U);
  EXPECT_EQ(murmurhash3_low64(1), 0xe8bd67d616d4ce9aU);
  EXPECT_EQ(murmurhash3_low64(12345), 0x1d31307e3a65e510U);
  EXPECT_EQ(murmurhash3_low64((std::uint64_t{1} << 40U) + 7), 0xf6b242e1df6537b4U);
  EXPECT_EQ(murmurhash3_low64(~std::uint64_t{0}), 0x574f66bd212b5d1aU);
}

TEST(PrecomputedSharding, LeavesOutBitsThatTheGridDoesNotNeed) {
  EXPECT_EQ(compressed_morton_code(Three{1, 1, 1}, Three{2, 2, 2}), 7U);
  EXPECT_EQ(compressed_morton_code(Three{5, 0, 0}, Three{6, 1, 1}), 5U) << "one axis alone";
  // x has 3 bits, y none, z 1: the bits are x0 z0 x1 x2.
  EXPECT_EQ(compressed_morton_code(Three{0b110, 0, 1}, Three{7, 1, 2}), 0b1110U);
  EXPECT_EQ(compressed_morton_code(Three{0, 0, 0}, Three{0, 1, 1}), 0U) << "an empty axis";
  const std::uint64_t many = std::uint64_t{1} << 40U;
  EXPECT_FALSE(compressed_morton_code(Three{0, 0, 0}, Three{many, many, many}));
}

TEST(PrecomputedSharding, PlacesAndNamesShards) {
  PrecomputedSharding sharding = two_bits();
  sharding.preshift_bits = 1;
  const auto place = sharding.place_of(0b1110110);
  EXPECT_EQ(place.minishard, 0b11U);
  EXPECT_EQ(place.shard, 0b110U);
  EXPECT_EQ(sharding.file_name(6), "6.shard");
  sharding.shard_bits = 9;
  EXPECT_EQ(sharding.file_name(0x1f), "01f.shard");
  sharding.shard_bits = 0;
  EXPECT_EQ(sharding.file_name(0), "0.shard");
  sharding.preshift_bits = 64;
  EXPECT_EQ(sharding.place_of(~std::uint64_t{0}).shard, 0U);
}

TEST(PrecomputedSharding, NamesTheFieldThatIsWrong) {
  const Json good = {{"@type", "neuroglancer_uint64_sharded_v1"},
                     {"preshift_bits", 1.0},
                     {"minishard_bits", 2},
                     {"shard_bits", 3},
                     {"hash", "identity"}};
  ASSERT_TRUE(parse_precomputed_sharding(good, "s"));
  const auto error = [&good](const char* field, Json value) {
    Json bad = good;
    bad[field] = std::move(value);
    const auto parsed = parse_precomputed_sharding(bad, "s");
    return parsed ? Error{} : parsed.error();
  };
  EXPECT_THAT(error("minishard_bits", -1).message, HasSubstr("s.minishard_bits is -1"));
  EXPECT_THAT(error("minishard_bits", 27).message, HasSubstr("s.minishard_bits is 27"));
  EXPECT_THAT(error("shard_bits", 63).message, HasSubstr("s.shard_bits is 63, more than 62"));
  EXPECT_THAT(error("shard_bits", 0.5).message, HasSubstr("s.shard_bits is 0.5"));
  EXPECT_EQ(error("hash", "sha1").fault, Fault::kUnsupported);
  EXPECT_EQ(error("data_encoding", "zstd").fault, Fault::kUnsupported);
  EXPECT_EQ(error("@type", "other").fault, Fault::kUnsupported);
}

TEST(MinishardIndex, FindsChunksByDeltas) {
  // Three rows of two: ids 5 and 9; behind the shard index of 64 bytes +10, then +4; 100 and 7
  // bytes.
  const auto index = MinishardIndex::parse(numbers({5, 4, 10, 4, 100, 7}), two_bits(), {});
  ASSERT_TRUE(index);
  EXPECT_EQ(index->find(5), (ByteRange{74, 100}));
  EXPECT_EQ(index->find(9), (ByteRange{178, 7}));
  EXPECT_FALSE(index->find(6));
  EXPECT_FALSE(index->find(10));
}

TEST(MinishardIndex, IsDamagedWhereNumbersDoNotAddUp) {
  const std::uint64_t most = ~std::uint64_t{0};
  const auto error = [](const Bytes& bytes) {
    const auto index = MinishardIndex::parse(bytes, two_bits(), {});
    EXPECT_FALSE(index);
    return index ? Error{} : index.error();
  };
  EXPECT_THAT(error(Bytes(25)).message, HasSubstr("25 bytes, which is no multiple of 24"));
  EXPECT_THAT(error(numbers({5, most, 0, 0, 1, 1})).message, HasSubstr("entry 1"));
  EXPECT_THAT(error(numbers({5, most - 20, 1})).message, HasSubstr("runs over 2^64"));
  EXPECT_THAT(error(numbers({5, 0, 0, 0, 1, 1})).message, HasSubstr("lists a chunk twice"));
  EXPECT_EQ(error(numbers({5, 0, 0, 0, 1, 1})).fault, Fault::kDamaged);
}

TEST(MinishardIndex, LiesBehindTheShardIndex) {
  const auto sharding = two_bits();
  EXPECT_EQ(*minishard_range(numbers({36, 60}), sharding, 200), (ByteRange{100, 24}));
  EXPECT_EQ(*minishard_range(numbers({0, 0}), sharding, 64), std::nullopt) << "no chunks";
  for (const auto& entry :
       {numbers({60, 36}), numbers({137, 137}), numbers({36, 137}), numbers({~std::uint64_t{0}, 5}),
        numbers({~std::uint64_t{0} - 1, ~std::uint64_t{0}})}) {
    const auto range = minishard_range(entry, sharding, 200);
    ASSERT_FALSE(range);
    EXPECT_EQ(range.error().fault, Fault::kDamaged);
    EXPECT_THAT(range.error().message, HasSubstr("the shard has 200"));
  }
}

TEST(Segmentation, DecodesTablesAndBits) {
  // One channel from word 1; 3 x 1 x 1 voxels in blocks of 2 x 1 x 1: a block of 1 bit, one of 0.
  const SegmentationForm form{{3, 1, 1}, 1, 4, {2, 1, 1}};
  const Bytes encoded = words({1, 4 | 1U << 24U, 6, 7, 0, 11, 22, 0b01, 33});
  const auto labels = decode_segmentation(encoded, form);
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_EQ(*labels, words({22, 11, 33}));
}

TEST(Segmentation, IsDamagedWhereATableIsNotThere) {
  const SegmentationForm form{{2, 1, 1}, 1, 8, {2, 1, 1}};
  const auto error = [&form](const Bytes& encoded) {
    const auto labels = decode_segmentation(encoded, form);
    EXPECT_FALSE(labels);
    return labels ? std::string() : labels.error().message;
  };
  EXPECT_THAT(error(Bytes(3)), HasSubstr("3 bytes"));
  EXPECT_THAT(error(words({9})), HasSubstr("channel 0 begins at byte 36 of 4"));
  EXPECT_THAT(error(words({1, 2})), HasSubstr("its header is not there"));
  EXPECT_THAT(error(words({1, 2 | 3U << 24U, 0})), HasSubstr("3 bits a voxel"));
  EXPECT_THAT(error(words({1, 2 | 1U << 24U, 9, 1, 2})),
              HasSubstr("its values are 1 words from 9"));
  EXPECT_THAT(error(words({1, 3, 0, 1})), HasSubstr("label 0 of its table at word 3"));
}

TEST(VoxelChunk, IsMadeWholeWithZeros) {
  const Bytes part = {1, 2, 3, 4};  // 2 x 1 x 1, two channels
  EXPECT_THAT(made_whole(part, {2, 1, 1}, {3, 2, 1}, 2, 1),
              ElementsAre(1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0));
}

TEST(VoxelChunk, AStoredGzipHasItsSizeAndItsBytes) {
  for (const std::size_t size : {0UL, 1UL, 65535UL, 65536UL, 200000UL}) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
    const Bytes gzip = stored_gzip(bytes);
    EXPECT_EQ(gzip.size(), stored_gzip_size(size));
    const auto back = decompress("gzip", gzip, size);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, bytes);
  }
}

TEST(Images, ThatAreNoneAreDamaged) {
  const Bytes text = {'n', 'o', ' ', 'i', 'm', 'a', 'g', 'e'};
  for (const auto& decoded : {decode_jpeg(text, {4, 1, 1}), decode_png(text, {4, 1, 1}),
                              decode_jpeg({}, {4, 1, 1}), decode_png({}, {4, 1, 1})}) {
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().fault, Fault::kDamaged) << decoded.error().message;
  }
}

}  // namespace
}  // namespace zarrfs
