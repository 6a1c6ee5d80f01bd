// Presentations as a whole: grids, keys, bytes shown and stored again, the v3 view.
#include "core/present/presentation.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/base/json.h"
#include "tests/unit/core/present/present_support.h"

namespace zarrfs::present_test {
namespace {

constexpr const char* kLittle = R"({"name": "bytes", "configuration": {"endian": "little"}})";

std::string chain(const std::string& more) {
  return std::string("[") + kLittle + (more.empty() ? "" : ", ") + more + "]";
}

Json plain(const std::string& type = "uint16", const std::string& more = "") {
  return sharded(type, 0, json(chain(more)));
}

/// Elements that compress neither to nothing nor to more than they are.
Bytes some_elements(const Presentation& p) {
  Bytes elements(p.layout->chunk_chain().decoded().bytes());
  std::iota(elements.begin(), elements.end(), std::uint8_t{0});
  return elements;
}

TEST(Presentation, DocumentHasAllMembersOfZarrV2) {
  const Presentation p = present(plain(), with_profile("generic"));
  EXPECT_EQ(*p.document,
            json(R"({"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2",
    "compressor": null, "fill_value": 0, "order": "C", "filters": null, "dimension_separator": "."})"));
  EXPECT_EQ(*p.attributes, Json::object());
  EXPECT_EQ(p.chunk_counts, (std::vector<std::uint64_t>{2, 2}));
  EXPECT_EQ(p.read_only_reason, "");
  EXPECT_EQ(p.reason, "");
}

TEST(Presentation, SeparatorIsTheUsersThenTheProfilesThenTheConventions) {
  struct Row {
    const char* profile;
    std::optional<char> option;
    bool in_ome_image;
    char expected;
  };
  for (const Row& row :
       {Row{"generic", {}, false, '.'}, Row{"generic", {}, true, '/'}, Row{"ome", {}, false, '/'},
        Row{"xarray", {}, true, '.'}, Row{"xarray", '/', false, '/'}, Row{"ome", '.', true, '.'}}) {
    ViewOptions options = with_profile(row.profile);
    options.separator = row.option;
    ArrayCircumstances circumstances;
    circumstances.in_ome_image = row.in_ome_image;
    const Presentation p = present(plain(), options, circumstances);
    EXPECT_EQ(p.keys.separator, row.expected) << row.profile;
    EXPECT_EQ(p.document["dimension_separator"], std::string(1, row.expected)) << row.profile;
  }
}

TEST(Presentation, StoredBytesComeBackAsTheyWere) {
  struct Row {
    const char* profile;
    std::string more;
    ByteRule rule;
  };
  const std::string zstd = R"({"name": "zstd", "configuration": {"level": 3, "checksum": false}})";
  for (const Row& row : {
           Row{"generic", zstd, ByteRule::kVerbatim},
           Row{"generic", zstd + R"(, {"name": "crc32c"})", ByteRule::kTrim},
           Row{"generic", R"({"name": "numcodecs.crc32"}, {"name": "crc32c"})", ByteRule::kTrim},
           Row{"ome", zstd, ByteRule::kBloscWrap},
           Row{"ome", zstd + R"(, {"name": "crc32c"})", ByteRule::kBloscWrap},
           Row{"ome", R"({"name": "numcodecs.lz4"})", ByteRule::kBloscWrap},
           Row{"netcdf", R"({"name": "crc32c"})", ByteRule::kTrim},
           Row{"netcdf", R"({"name": "crc32c"}, {"name": "gzip", "configuration": {"level": 1}})",
               ByteRule::kDecode},
       }) {
    SCOPED_TRACE(std::string(row.profile) + " " + row.more);
    const Presentation p = present(plain("uint16", row.more), with_profile(row.profile));
    ASSERT_EQ(p.rule, row.rule) << p.reason;
    const auto stored = p.layout->chunk_chain().encode(some_elements(p));
    ASSERT_TRUE(stored) << stored.error().message;
    const auto shown = p.present(*stored);
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(p.shown_size(stored->size()).value_or(0), shown->size());
    const auto again = p.restore(*shown);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *stored);
  }
}

TEST(Presentation, ChunksShorterThanTheirChecksumsAreDamaged) {
  const Presentation p = present(plain("uint16", R"({"name": "crc32c"})"), with_profile("generic"));
  EXPECT_EQ(p.shown_size(3).error().fault, Fault::kDamaged);
  EXPECT_EQ(p.present(Bytes(3)).error().fault, Fault::kDamaged);
  EXPECT_EQ(p.shown_size(4).value_or(9), 0U);
}

TEST(Presentation, ContainedChunksThatProgramsWroteAreEncodedAnew) {
  const std::string zstd = R"({"name": "zstd", "configuration": {"level": 3, "checksum": false}})";
  const Presentation p = present(plain("uint16", zstd), with_profile("ome"));
  ASSERT_EQ(p.rule, ByteRule::kBloscWrap);
  CodecSpec spec;
  spec.name = "blosc";
  spec.configuration =
      json(R"({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0})");
  const Elements& elements = p.layout->chunk_chain().steps().back().decoded;
  const auto blosc = make_codec(spec, elements);
  ASSERT_TRUE(blosc) << blosc.error().message;
  const Bytes raw = some_elements(p);
  const auto written = (*blosc)->encode(raw, elements);
  ASSERT_TRUE(written);
  const auto stored = p.restore(*written);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(p.layout->chunk_chain().decode(*stored).value_or(Bytes{}), raw);
  EXPECT_FALSE(p.restore(Bytes(40)));
}

TEST(Presentation, PayloadAsLongAsItsElementsIsShownRaw) {
  const std::string zstd = R"({"name": "zstd", "configuration": {"level": 3, "checksum": false}})";
  Json document = sharded("uint8", 0, json(chain(zstd)));
  document["chunk_grid"]["configuration"]["chunk_shape"] = json("[4, 8]");
  document["codecs"][0]["configuration"]["chunk_shape"] = json("[4, 8]");
  const Presentation p = present(document, with_profile("ome"));
  ASSERT_EQ(p.rule, ByteRule::kBloscWrap);
  // A frame of 32 bytes that holds 32: header (4 magic, 1 descriptor, 1 size), then a raw block of
  // 20 and one of 12 bytes repeated.
  Bytes frame = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 32, 0xa0, 0, 0};
  for (std::uint8_t i = 0; i < 20; ++i) frame.push_back(i);
  frame.insert(frame.end(), {0x63, 0, 0, 7});  // last block, type RLE, 12 times 7
  Bytes raw(frame.begin() + 9, frame.begin() + 29);
  raw.insert(raw.end(), 12, 7);
  // One byte longer than what it holds: shown as any other.
  const auto longer = p.present(frame);
  ASSERT_TRUE(longer) << longer.error().message;
  EXPECT_EQ(longer->size(), frame.size() + 24);
  // With an RLE block in the place of the raw one's last byte the frame has 32 bytes.
  Bytes equal = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 32, 0x98, 0, 0};
  for (std::uint8_t i = 0; i < 19; ++i) equal.push_back(i);
  equal.insert(equal.end(), {0x6b, 0, 0, 7});  // 13 times 7
  ASSERT_EQ(equal.size(), 32U);
  const auto shown = p.present(equal);
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->size(), equal.size() + 24);
  raw[19] = 7;
  EXPECT_TRUE(std::equal(raw.begin(), raw.end(), shown->begin() + 24));
  const auto stored = p.restore(*shown);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(p.layout->chunk_chain().decode(*stored).value_or(Bytes{}), raw);
}

TEST(Presentation, WidenedElementsComeBackNarrow) {
  const Presentation p = present(plain("bfloat16"), with_profile("generic"));
  ASSERT_EQ(p.rule, ByteRule::kDecode);
  const Bytes stored = {0xc0, 0x3f, 0, 0, 0x80, 0xbf, 0x80, 0x7f, 0, 0x40, 0, 0xc0};
  const auto shown = p.present(stored);
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->size(), p.fixed_size);
  EXPECT_EQ(load_little<float>(*shown), 1.5F);
  EXPECT_EQ(p.restore(*shown).value_or(Bytes{}), stored);
  EXPECT_EQ(p.restore(Bytes(5)).error().fault, Fault::kInvalid);
}

TEST(Presentation, ChunksLargerThanTheArrayAreClampedForNetcdf) {
  Json document = plain("uint8");
  document["shape"] = json("[3, 2]");
  document["fill_value"] = 9;
  const Presentation p = present(document, with_profile("netcdf"));
  ASSERT_EQ(p.rule, ByteRule::kDecode) << p.reason;
  EXPECT_EQ(p.document["chunks"], json("[2, 2]"));
  EXPECT_EQ(p.chunk_counts, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(p.present(Bytes{1, 2, 3, 4, 5, 6}).value_or(Bytes{}), (Bytes{1, 2, 4, 5}));
  EXPECT_EQ(p.restore(Bytes{1, 2, 4, 5}).value_or(Bytes{}), (Bytes{1, 2, 9, 4, 5, 9}));
}

TEST(Presentation, NetcdfHidesWhatItsReaderCannotOpen) {
  Json empty = plain();
  empty["shape"] = json("[0, 6]");
  EXPECT_TRUE(present(empty, with_profile("netcdf")).hidden);
  EXPECT_FALSE(present(empty, with_profile("generic")).hidden);
  Json scalar = plain();
  scalar["shape"] = Json::array();
  scalar["chunk_grid"]["configuration"]["chunk_shape"] = Json::array();
  scalar["codecs"][0]["configuration"]["chunk_shape"] = Json::array();
  EXPECT_TRUE(present(scalar, with_profile("netcdf")).hidden);
  const Presentation shown = present(scalar, with_profile("generic"));
  EXPECT_FALSE(shown.hidden);
  EXPECT_EQ(shown.document["chunks"], Json::array());
}

TEST(Presentation, RechunkingGivesTheGridAskedFor) {
  ViewOptions options = with_profile("generic");
  options.rechunk = {4};
  const Presentation p = present(plain(), options);
  EXPECT_EQ(p.rule, ByteRule::kRechunk);
  EXPECT_EQ(p.document["chunks"], json("[4, 4]"));
  EXPECT_EQ(p.chunk_counts, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(p.fixed_size, 32U);
  EXPECT_EQ(p.document["compressor"], nullptr);
  EXPECT_EQ(p.present_elements(Bytes(32, 1)).value_or(Bytes{}), Bytes(32, 1));
  EXPECT_EQ(p.restore(Bytes(32)).error().fault, Fault::kReadOnly);
  EXPECT_FALSE(p.read_only_reason.empty());
}

TEST(Presentation, RechunkingThatCannotBeDoneIsReported) {
  ViewOptions options = with_profile("generic");
  options.rechunk = {4, 4, 4};
  const Presentation wrong_rank = present(plain(), options);
  EXPECT_EQ(wrong_rank.rule, ByteRule::kVerbatim);
  EXPECT_NE(wrong_rank.reason.find("3 numbers, the array 2 dimensions"), std::string::npos)
      << wrong_rank.reason;
  options.rechunk = {1ULL << 40U};
  EXPECT_EQ(present(plain(), options).rule, ByteRule::kVerbatim);
  options.rechunk = {2, 3};
  EXPECT_EQ(present(plain(), options).rule, ByteRule::kVerbatim);
}

Json rectilinear() {
  return json(
      R"({"zarr_format": 3, "node_type": "array", "shape": [1000, 1000], "data_type": "uint8",
    "fill_value": 0, "chunk_key_encoding": {"name": "default"}, "attributes": {},
    "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline",
                   "chunk_shapes": [[[300, 3], 100], [500, 500]]}},
    "codecs": [{"name": "bytes"}]})");
}

TEST(Presentation, ChunksOfManyShapesGetARegularGridNearThem) {
  const Presentation p = present(rectilinear(), with_profile("generic"));
  ASSERT_EQ(p.rule, ByteRule::kRechunk) << p.reason;
  ASSERT_EQ(p.chunk_shape.size(), 2U);
  EXPECT_EQ(p.chunk_shape[1], 1000U);
  EXPECT_EQ(p.fixed_size, p.chunk_shape[0] * p.chunk_shape[1]);
  EXPECT_NE(p.reason.find("several shapes"), std::string::npos) << p.reason;
}

TEST(Presentation, V3ViewLeavesOutShardingAndNothingElse) {
  ViewOptions options = with_profile("generic");
  options.format = ViewFormat::kV3;
  const std::string more =
      R"({"name": "zstd", "configuration": {"level": 3, "checksum": false}}, {"name": "crc32c"})";
  const Presentation p = present(plain("uint16", more), options);
  EXPECT_EQ(p.rule, ByteRule::kVerbatim);
  EXPECT_EQ(p.document["chunk_grid"]["configuration"]["chunk_shape"], json("[2, 3]"));
  ASSERT_EQ(p.document["codecs"].size(), 3U);
  EXPECT_EQ(p.document["codecs"][0]["name"], "bytes");
  EXPECT_TRUE(p.attributes->is_null());
  EXPECT_EQ(p.keys.separator, '/');
  EXPECT_EQ(p.restore(Bytes{1, 2}).value_or(Bytes{}), (Bytes{1, 2}));
}

TEST(Presentation, V3ViewCanBeRechunkedAndMaterialised) {
  ViewOptions options = with_profile("generic");
  options.format = ViewFormat::kV3;
  options.rechunk = {4};
  options.materialise = Materialise::kLookup;
  const Presentation p = present(plain(), options);
  EXPECT_EQ(p.rule, ByteRule::kRechunk);
  EXPECT_EQ(p.document["chunk_grid"]["configuration"]["chunk_shape"], json("[4, 4]"));
  EXPECT_EQ(p.document["codecs"], json(chain("")));
  ASSERT_TRUE(p.fill_chunk);
  EXPECT_EQ(p.fill_chunk->size(), 32U);
}

TEST(Presentation, V3ViewPassesGridsOfManyShapesThrough) {
  ViewOptions options = with_profile("generic");
  options.format = ViewFormat::kV3;
  const Presentation p = present(rectilinear(), options);
  EXPECT_EQ(p.rule, ByteRule::kVerbatim);
  EXPECT_EQ(p.document["chunk_grid"]["name"], "rectilinear");
  EXPECT_EQ(p.chunk_counts, (std::vector<std::uint64_t>{4, 2}));
}

TEST(Presentation, ArraysWithASkippedCodecAreReadOnly) {
  const Presentation p =
      present(plain("uint16", R"({"name": "someone.watermark", "must_understand": false})"),
              with_profile("generic"));
  EXPECT_EQ(p.rule, ByteRule::kVerbatim);
  EXPECT_NE(p.read_only_reason.find("someone.watermark"), std::string::npos);
  EXPECT_EQ(p.restore(Bytes(12)).error().fault, Fault::kReadOnly);
}

TEST(Presentation, MissingChunksOfCompressedArraysAreMadeUpEncoded) {
  const std::string zstd =
      R"({"name": "zstd", "configuration": {"level": 3, "checksum": false}}, {"name": "crc32c"})";
  Json document = plain("uint16", zstd);
  document["fill_value"] = 258;
  const Presentation p = present(document, with_profile("xarray"));
  EXPECT_EQ(p.materialise, Materialise::kLookup);
  ASSERT_TRUE(p.fill_chunk);
  const auto stored = p.restore(*p.fill_chunk);
  ASSERT_TRUE(stored);
  EXPECT_EQ(p.layout->chunk_chain().decode(*stored).value_or(Bytes{}),
            (Bytes{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
}

}  // namespace
}  // namespace zarrfs::present_test
