#include "core/zarr/shard_index.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/json.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

std::vector<CodecSpec> specs_of(const std::string& list) {
  std::vector<CodecSpec> specs;
  const auto parsed = parse_json(list, "test");
  for (const Json& one : *parsed) specs.push_back(*parse_codec_spec(one));
  return specs;
}

constexpr const char* kPlain = R"([{"name":"bytes","configuration":{"endian":"little"}}])";
constexpr const char* kChecked =
    R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}])";

IndexFormat format_of(const char* codecs, std::vector<std::uint64_t> counts, bool at_start) {
  auto format = IndexFormat::make(specs_of(codecs), std::move(counts), at_start);
  EXPECT_TRUE(format) << format.error().message;
  return *format;
}

Bytes stored(const std::vector<std::uint64_t>& numbers) {
  Bytes bytes;
  for (const std::uint64_t number : numbers) append_little(bytes, number);
  return bytes;
}

TEST(IndexFormat, SizesAreEntriesAndChecksums) {
  EXPECT_EQ(format_of(kPlain, {2, 3}, false).encoded_size(), 96U);
  EXPECT_EQ(format_of(kChecked, {2, 3}, false).encoded_size(), 100U);
  EXPECT_EQ(format_of(kChecked, {}, false).encoded_size(), 20U) << "rank 0 has one chunk";
}

TEST(IndexFormat, IndexLiesAtTheDeclaredEnd) {
  EXPECT_EQ(format_of(kChecked, {2}, false).range(1000)->offset, 964U);
  EXPECT_EQ(format_of(kChecked, {2}, true).range(1000)->offset, 0U);
  EXPECT_EQ(format_of(kChecked, {2}, false).range(36), (ByteRange{0, 36}));
}

TEST(IndexFormat, AShardShorterThanItsIndexIsDamaged) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{35}}) {
    const auto range = format_of(kChecked, {2}, false).range(size);
    ASSERT_FALSE(range);
    EXPECT_EQ(range.error().fault, Fault::kDamaged);
    EXPECT_NE(range.error().message.find("36"), std::string::npos);
  }
}

TEST(IndexFormat, CodecsWithoutFixedSizeAreUnsupportedByName) {
  const auto format =
      IndexFormat::make(specs_of(R"([{"name":"bytes","configuration":{"endian":"little"}},
                   {"name":"gzip","configuration":{"level":1}}])"),
                        {2}, false);
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().fault, Fault::kUnsupported);
  EXPECT_NE(format.error().message.find("gzip"), std::string::npos);
}

TEST(IndexFormat, HugeIndexesAreUnsupportedWhateverTheirCounts) {
  const std::vector<std::vector<std::uint64_t>> shapes{
      {(4ULL << 20U) + 1}, {kNone}, {kNone, kNone}, {1ULL << 32U, 1ULL << 32U}};
  for (const auto& counts : shapes) {
    const auto format = IndexFormat::make(specs_of(kPlain), counts, false);
    ASSERT_FALSE(format);
    EXPECT_EQ(format.error().fault, Fault::kUnsupported);
  }
  EXPECT_EQ(format_of(kPlain, {4ULL << 20U}, false).encoded_size(), kMaxIndexBytes);
}

TEST(ShardIndex, EntriesSurviveEncoding) {
  const IndexFormat format = format_of(kChecked, {2, 2}, false);
  ShardIndex index = ShardIndex::empty(4);
  index.set(0, {0, 10});
  index.set(3, {10, 5});
  index.set(2, {1, 1});
  index.clear(2);
  EXPECT_EQ(index.present(), 2U);
  EXPECT_EQ(index.entry(3).state, IndexEntry::State::kPresent);
  const auto encoded = index.encode(format);
  ASSERT_TRUE(encoded);
  ASSERT_EQ(encoded->size(), format.encoded_size());
  const auto decoded = ShardIndex::decode(*encoded, format, 15 + encoded->size());
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->size(), 4U);
  EXPECT_EQ(decoded->entry(0).range, (ByteRange{0, 10}));
  EXPECT_EQ(decoded->entry(1).state, IndexEntry::State::kMissing);
  EXPECT_EQ(decoded->entry(3).range, (ByteRange{10, 5}));
  EXPECT_EQ(decoded->present(), 2U);
}

TEST(ShardIndex, BigEndianIndexesAreRead) {
  const IndexFormat format =
      format_of(R"([{"name":"bytes","configuration":{"endian":"big"}}])", {1}, true);
  const Bytes bytes{0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 4};
  const auto index = ShardIndex::decode(bytes, format, 20);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->entry(0).range, (ByteRange{16, 4}));
}

TEST(ShardIndex, ATransposedIndexIsRead) {
  // The index array has the axes of the shard and one more, of offset and length.
  const IndexFormat format = format_of(
      R"([{"name":"transpose","configuration":{"order":[1,0]}},
          {"name":"bytes","configuration":{"endian":"little"}}])",
      {2}, true);
  const auto index = ShardIndex::decode(stored({32, 40, 8, 2}), format, 42);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->entry(0).range, (ByteRange{32, 8}));
  EXPECT_EQ(index->entry(1).range, (ByteRange{40, 2}));
}

TEST(ShardIndex, AWrongChecksumOrLengthIsDamaged) {
  const IndexFormat format = format_of(kChecked, {2}, false);
  Bytes encoded = *ShardIndex::empty(2).encode(format);
  encoded[3] ^= 1U;
  for (const std::size_t size : {encoded.size(), encoded.size() - 1, std::size_t{0}}) {
    const auto index = ShardIndex::decode(ByteView(encoded).first(size), format, 1000);
    ASSERT_FALSE(index) << size;
    EXPECT_EQ(index.error().fault, Fault::kDamaged);
  }
}

TEST(ShardIndex, OneBadEntryDamagesOnlyItsChunk) {
  const struct {
    ByteRange range;
    const char* why;
  } cases[] = {
      {{190, 11}, "lies past the end, 200"},
      {{201, 1}, "lies past the end, 200"},
      {{kNone - 1, 2}, "lies past the end, 200"},
      {{kNone - 1, kNone - 1}, "lies past the end, 200"},
      {{8, kNone}, "only the length is marked missing"},
      {{kNone, 8}, "only the offset is marked missing"},
      {{8, 0}, "has no bytes"},
      {{150, 20}, "overlaps the index, [168, +32)"},
      {{168, 32}, "overlaps the index"},
      {{199, 1}, "overlaps the index"},
      {{0, 200}, "overlaps the index"},
  };
  const IndexFormat format = format_of(kPlain, {2}, false);
  for (const auto& one : cases) {
    const auto index =
        ShardIndex::decode(stored({one.range.offset, one.range.length, 0, 168}), format, 200);
    ASSERT_TRUE(index);
    EXPECT_EQ(index->entry(0).state, IndexEntry::State::kDamaged) << one.why;
    EXPECT_EQ(index->entry(0).range, one.range);
    EXPECT_NE(index->describe_damage(0).find(one.why), std::string::npos)
        << index->describe_damage(0);
    EXPECT_EQ(index->entry(1).state, IndexEntry::State::kPresent);
    EXPECT_EQ(index->present(), 2U);
  }
}

TEST(ShardIndex, ChunksMayShareBytes) {
  const auto index =
      ShardIndex::decode(stored({0, 50, 10, 50}), format_of(kPlain, {2}, false), 200);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->entry(0).state, IndexEntry::State::kPresent);
  EXPECT_EQ(index->entry(1).state, IndexEntry::State::kPresent);
}

TEST(ShardIndex, EntriesBehindAnIndexAtTheStartCountFromTheShard) {
  const auto index = ShardIndex::decode(stored({16, 4}), format_of(kPlain, {1}, true), 20);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->entry(0).state, IndexEntry::State::kPresent);
  const auto inside = ShardIndex::decode(stored({15, 4}), format_of(kPlain, {1}, true), 20);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->entry(0).state, IndexEntry::State::kDamaged);
}

TEST(ShardIndex, AnEntrySetBehindTheOldEndIsSound) {
  auto index = ShardIndex::decode(stored({16, 4}), format_of(kPlain, {1}, true), 20);
  ASSERT_TRUE(index);
  index->set(0, {20, 100});
  EXPECT_EQ(index->entry(0).state, IndexEntry::State::kPresent);
}

TEST(ShardIndex, AnIndexOfOtherSizeIsNotEncoded) {
  const auto encoded = ShardIndex::empty(3).encode(format_of(kPlain, {2}, false));
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().fault, Fault::kInvalid);
}

}  // namespace
}  // namespace zarrfs
