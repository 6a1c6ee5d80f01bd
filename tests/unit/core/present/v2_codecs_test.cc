// Chains of codecs as Zarr v2 says them, and the rule for their bytes.
#include "core/present/v2_codecs.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/unit/core/present/present_support.h"

namespace zarrfs::present_test {
namespace {

constexpr const char* kLittleCodec = R"({"name": "bytes", "configuration": {"endian": "little"}})";

struct CodecRow {
  const char* profile;
  const char* type;
  const char* codecs;  // inner chain_of
  const char* dtype;   // null: hidden
  const char* compressor;
  const char* filters;
  const char* order;
  ByteRule rule;
  std::uint64_t shown_of_100;  // size shown for 100 stored bytes
};

std::string chain_of(const std::string& text) {
  std::string spelled = text;
  for (std::size_t at = spelled.find("LITTLE"); at != std::string::npos;
       at = spelled.find("LITTLE")) {
    spelled.replace(at, 6, kLittleCodec);
  }
  return "[" + spelled + "]";
}

void expect_row(const CodecRow& row) {
  SCOPED_TRACE(std::string(row.profile) + ": " + row.type + " " + row.codecs);
  const std::string type = row.type;
  const Json fill = type == "string" ? Json("") : type == "bool" ? Json(false) : Json(0);
  const Presentation p =
      present(sharded(type, fill, json(chain_of(row.codecs))), with_profile(row.profile));
  if (row.dtype == nullptr) {
    EXPECT_TRUE(p.hidden);
    EXPECT_FALSE(p.reason.empty());
    return;
  }
  ASSERT_FALSE(p.hidden) << p.reason;
  EXPECT_EQ(p.document["dtype"], row.dtype);
  EXPECT_EQ(p.document["compressor"], json(row.compressor));
  EXPECT_EQ(p.document["filters"], json(row.filters));
  EXPECT_EQ(p.document["order"], row.order);
  EXPECT_EQ(p.rule, row.rule);
  const auto size = p.shown_size(100);
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, row.shown_of_100);
  if (p.materialise != Materialise::kOff) return;  // which has a reason of its own
  EXPECT_EQ(p.rule == ByteRule::kDecode, !p.reason.empty()) << p.reason;
}

TEST(V2Codecs, BytesAndCompressorsPassThrough) {
  for (const CodecRow& row : {
           CodecRow{"generic", "uint16", "LITTLE", "<u2", "null", "null", "C", ByteRule::kVerbatim,
                    100},
           CodecRow{"generic", "uint16", R"({"name": "bytes", "configuration": {"endian": "big"}})",
                    ">u2", "null", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "uint8", R"({"name": "bytes"})", "|u1", "null", "null", "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"generic", "uint16",
                    R"(LITTLE, {"name": "zstd", "configuration": {"level": 0, "checksum": false}})",
                    "<u2", R"({"id": "zstd", "level": 0})", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int32",
                    R"(LITTLE, {"name": "gzip", "configuration": {"level": 5}})", "<i4",
                    R"({"id": "gzip", "level": 5})", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "float32",
                    R"(LITTLE, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5,
                  "shuffle": "shuffle", "typesize": 4, "blocksize": 0}})",
                    "<f4",
                    R"({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})",
                    "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{
               "generic", "uint8",
               R"(LITTLE, {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 9,
                  "shuffle": "bitshuffle", "typesize": 1, "blocksize": 0}})",
               "|u1",
               R"({"id": "blosc", "cname": "zstd", "clevel": 9, "shuffle": 2, "blocksize": 0})",
               "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int32", R"(LITTLE, {"name": "numcodecs.zlib"})", "<i4",
                    R"({"id": "zlib", "level": 1})", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int32",
                    R"(LITTLE, {"name": "numcodecs.bz2", "configuration": {"level": 9}})", "<i4",
                    R"({"id": "bz2", "level": 9})", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int32", R"(LITTLE, {"name": "numcodecs.lz4"})", "<i4",
                    R"({"id": "lz4", "acceleration": 1})", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int32", R"(LITTLE, {"name": "numcodecs.lzma"})", "<i4",
                    R"({"id": "lzma", "format": 1, "check": -1, "preset": null, "filters": null})",
                    "null", "C", ByteRule::kVerbatim, 100},
       }) {
    expect_row(row);
  }
}

TEST(V2Codecs, OutermostChecksumsAreTrimmedAndOthersDecoded) {
  for (const CodecRow& row : {
           CodecRow{
               "generic", "int32",
               R"(LITTLE, {"name": "gzip", "configuration": {"level": 5}}, {"name": "crc32c"})",
               "<i4", R"({"id": "gzip", "level": 5})", "null", "C", ByteRule::kTrim, 96},
           CodecRow{"generic", "int32", R"(LITTLE, {"name": "crc32c"}, {"name": "crc32c"})", "<i4",
                    "null", "null", "C", ByteRule::kTrim, 92},
           CodecRow{"generic", "int32", R"(LITTLE, {"name": "numcodecs.crc32"})", "<i4", "null",
                    "null", "C", ByteRule::kTrim, 96},
           CodecRow{
               "generic", "int32",
               R"(LITTLE, {"name": "crc32c"}, {"name": "gzip", "configuration": {"level": 5}})",
               "<i4", "null", "null", "C", ByteRule::kDecode, 24},
           CodecRow{"generic", "int32",
                    R"(LITTLE, {"name": "numcodecs.adler32"}, {"name": "numcodecs.zlib"})", "<i4",
                    R"({"id": "zlib", "level": 1})", R"([{"id": "adler32"}])", "C",
                    ByteRule::kVerbatim, 100},
       }) {
    expect_row(row);
  }
}

TEST(V2Codecs, FiltersKeepTheirPlaceAndTheByteOrderOfTheArray) {
  constexpr const char* kDelta = R"([{"id": "delta", "dtype": "<i2", "astype": "<i2"}])";
  for (
      const CodecRow& row : {
          CodecRow{"generic", "int16",
                   R"({"name": "numcodecs.delta", "configuration": {"dtype": "int16"}}, LITTLE,
                  {"name": "numcodecs.zlib", "configuration": {"level": 1}})",
                   "<i2", R"({"id": "zlib", "level": 1})", kDelta, "C", ByteRule::kVerbatim, 100},
          CodecRow{"generic", "int16",
                   R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i2"}},
                  {"name": "bytes", "configuration": {"endian": "big"}})",
                   ">i2", "null", R"([{"id": "delta", "dtype": ">i2", "astype": ">i2"}])", "C",
                   ByteRule::kVerbatim, 100},
          CodecRow{
              "generic", "float32",
              R"({"name": "numcodecs.fixedscaleoffset", "configuration":
                   {"offset": 0, "scale": 10, "dtype": "<f4", "astype": "|u1"}}, {"name": "bytes"},
                  {"name": "zstd", "configuration": {"level": 3, "checksum": false}})",
              "<f4", R"({"id": "zstd", "level": 3})",
              R"([{"id": "fixedscaleoffset", "offset": 0, "scale": 10, "dtype": "<f4", "astype": "|u1"}])",
              "C", ByteRule::kVerbatim, 100},
          CodecRow{"generic", "uint32",
                   R"(LITTLE, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}},
                  {"name": "zstd", "configuration": {"level": 0, "checksum": false}})",
                   "<u4", R"({"id": "zstd", "level": 0})",
                   R"([{"id": "shuffle", "elementsize": 4}])", "C", ByteRule::kVerbatim, 100},
          CodecRow{"generic", "uint32", R"(LITTLE, {"name": "numcodecs.shuffle"})", "<u4", "null",
                   R"([{"id": "shuffle", "elementsize": 4}])", "C", ByteRule::kVerbatim, 100},
          CodecRow{"gdal", "int16",
                   R"({"name": "numcodecs.delta", "configuration": {"dtype": "int16"}}, LITTLE)",
                   "<i2", "null", kDelta, "C", ByteRule::kVerbatim, 100},
          CodecRow{
              "gdal", "uint8",
              R"({"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}}, {"name": "bytes"})",
              "|u1", "null", R"([{"id": "delta", "dtype": "u1", "astype": "u1"}])", "C",
              ByteRule::kVerbatim, 100},
          CodecRow{
              "generic", "int32",
              R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}},
                  LITTLE)",
              "<i4", "null", R"([{"id": "delta", "dtype": "<i4", "astype": "<i2"}])", "C",
              ByteRule::kVerbatim, 100},
          CodecRow{
              "gdal", "int32",
              R"({"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}},
                  LITTLE)",
              "<i4", "null", "null", "C", ByteRule::kDecode, 24},
          CodecRow{"ome", "int16",
                   R"({"name": "numcodecs.delta", "configuration": {"dtype": "int16"}}, LITTLE)",
                   "<i2", "null", "null", "C", ByteRule::kDecode, 12},
          CodecRow{"gdal", "uint32", R"(LITTLE, {"name": "numcodecs.shuffle"})", "<u4", "null",
                   "null", "C", ByteRule::kDecode, 24},
      }) {
    expect_row(row);
  }
}

TEST(V2Codecs, FiltersThatOnlyRoundAreDroppedWhereTheReaderLacksThem) {
  constexpr const char* kQuantize =
      R"({"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "float32"}}, LITTLE)";
  constexpr const char* kNarrowing =
      R"({"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "float64",
           "astype": "float32"}}, LITTLE)";
  constexpr const char* kBitround =
      R"({"name": "numcodecs.bitround", "configuration": {"keepbits": 7}}, LITTLE)";
  constexpr const char* kCore = R"({"name": "bitround", "configuration": {"keepbits": 7}}, LITTLE)";
  constexpr const char* kQuantizeFilter =
      R"([{"id": "quantize", "digits": 2, "dtype": "<f4", "astype": "<f4"}])";
  constexpr const char* kBitroundFilter = R"([{"id": "bitround", "keepbits": 7}])";
  for (const CodecRow& row : {
           CodecRow{"generic", "float32", kQuantize, "<f4", "null", kQuantizeFilter, "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"ome", "float32", kQuantize, "<f4", "null", "null", "C", ByteRule::kVerbatim,
                    100},
           CodecRow{"gdal", "float32", kQuantize, "<f4", "null", "null", "C", ByteRule::kVerbatim,
                    100},
           CodecRow{"netcdf", "float32", kQuantize, "<f4", "null", "null", "C", ByteRule::kVerbatim,
                    100},
           CodecRow{"generic", "float64", kNarrowing, "<f8", "null",
                    R"([{"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}])", "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"gdal", "float64", kNarrowing, "<f8", "null", "null", "C", ByteRule::kDecode,
                    48},
           CodecRow{"generic", "float32", kBitround, "<f4", "null", kBitroundFilter, "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"generic", "float32", kCore, "<f4", "null", kBitroundFilter, "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"ome", "float32", kBitround, "<f4", "null", "null", "C", ByteRule::kVerbatim,
                    100},
           CodecRow{"gdal", "float32", kCore, "<f4", "null", "null", "C", ByteRule::kVerbatim, 100},
       }) {
    expect_row(row);
  }
}

TEST(V2Codecs, PackedBitsOfTheTwoKindsAreNotTakenForEachOther) {
  // numcodecs puts the first element in the highest bit, and the padding in front; Zarr v3 neither.
  for (const CodecRow& row : {
           CodecRow{"generic", "bool", R"({"name": "numcodecs.packbits"}, {"name": "bytes"})",
                    "|b1", "null", R"([{"id": "packbits"}])", "C", ByteRule::kVerbatim, 100},
           CodecRow{"gdal", "bool", R"({"name": "numcodecs.packbits"}, {"name": "bytes"})", "|b1",
                    "null", "null", "C", ByteRule::kDecode, 6},
           CodecRow{"generic", "bool", R"({"name": "packbits"})", "|b1", "null", "null", "C",
                    ByteRule::kDecode, 6},
           CodecRow{"ome", "bool", R"({"name": "packbits"})", "|b1", "null", "null", "C",
                    ByteRule::kDecode, 6},
       }) {
    expect_row(row);
  }
}

TEST(V2Codecs, TransposesBecomeOrdersOrAreDecoded) {
  constexpr const char* kDelta =
      R"({"name": "numcodecs.delta", "configuration": {"dtype": "int16"}})";
  const std::string turned = R"({"name": "transpose", "configuration": {"order": [1, 0]}})";
  const std::string same = R"({"name": "transpose", "configuration": {"order": [0, 1]}})";
  const std::string filtered = turned + ", " + kDelta + ", LITTLE";
  const std::string wrong_way = std::string(kDelta) + ", " + turned + ", LITTLE";
  const std::string twice = turned + ", " + turned + ", LITTLE";
  const std::string once = turned + ", LITTLE";
  const std::string none = same + ", LITTLE";
  constexpr const char* kFilter = R"([{"id": "delta", "dtype": "<i2", "astype": "<i2"}])";
  for (const CodecRow& row : {
           CodecRow{"generic", "int16", once.c_str(), "<i2", "null", "null", "F",
                    ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int16", none.c_str(), "<i2", "null", "null", "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int16", twice.c_str(), "<i2", "null", "null", "C",
                    ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int16", filtered.c_str(), "<i2", "null", kFilter, "F",
                    ByteRule::kVerbatim, 100},
           CodecRow{"generic", "int16", wrong_way.c_str(), "<i2", "null", "null", "C",
                    ByteRule::kDecode, 12},
           CodecRow{"ome", "int16", once.c_str(), "<i2", "null", "null", "C", ByteRule::kDecode,
                    12},
       }) {
    expect_row(row);
  }
}

TEST(V2Codecs, AxesOfExtentOneDoNotCountForTheOrder) {
  Json document =
      sharded("uint8", 0, json(R"([{"name": "transpose", "configuration": {"order": [1, 0, 2, 3]}},
                                               {"name": "bytes"}])"));
  document["shape"] = json("[2, 3, 8, 8]");
  document["chunk_grid"]["configuration"]["chunk_shape"] = json("[2, 3, 8, 8]");
  Json& inner = document["codecs"][0]["configuration"]["chunk_shape"];
  inner = json("[1, 1, 4, 8]");
  const Presentation flat = present(document, with_profile("generic"));
  EXPECT_EQ(flat.document["order"], "C");
  EXPECT_EQ(flat.rule, ByteRule::kVerbatim);
  inner = json("[2, 3, 4, 8]");
  const Presentation mixed = present(document, with_profile("generic"));
  EXPECT_EQ(mixed.rule, ByteRule::kDecode);
  EXPECT_EQ(mixed.fixed_size, 2U * 3 * 4 * 8);
}

TEST(V2Codecs, ReadersWithBloscGetOtherCodecsInABloscContainer) {
  constexpr const char* kBlosc =
      R"({"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 0, "blocksize": 0})";
  for (const CodecRow& row : {
           CodecRow{"ome", "uint16",
                    R"(LITTLE, {"name": "zstd", "configuration": {"level": 3, "checksum": false}})",
                    "<u2", kBlosc, "null", "C", ByteRule::kBloscWrap, 124},
           CodecRow{"ome", "uint16",
                    R"(LITTLE, {"name": "zstd", "configuration": {"level": 3, "checksum": true}},
                  {"name": "crc32c"})",
                    "<u2", kBlosc, "null", "C", ByteRule::kBloscWrap, 120},
           CodecRow{"ome", "uint16", R"(LITTLE, {"name": "numcodecs.lz4"})", "<u2",
                    R"({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0, "blocksize": 0})",
                    "null", "C", ByteRule::kBloscWrap, 120},
           CodecRow{"ome", "uint16", R"(LITTLE, {"name": "gzip", "configuration": {"level": 1}})",
                    "<u2", R"({"id": "gzip", "level": 1})", "null", "C", ByteRule::kVerbatim, 100},
           CodecRow{"ome", "uint16", R"(LITTLE, {"name": "numcodecs.bz2"})", "<u2", "null", "null",
                    "C", ByteRule::kDecode, 12},
           CodecRow{"netcdf", "uint16",
                    R"(LITTLE, {"name": "zstd", "configuration": {"level": 3, "checksum": false}})",
                    "<u2", "null", "null", "C", ByteRule::kDecode, 12},
           CodecRow{"netcdf", "uint16", R"({"name": "bytes", "configuration": {"endian": "big"}})",
                    "<u2", "null", "null", "C", ByteRule::kDecode, 12},
       }) {
    expect_row(row);
  }
}

TEST(V2Codecs, ZstdFramesWithoutSizeAreContainedOrDecoded) {
  const Json document = sharded(
      "uint16", 0,
      json(chain_of(
          R"(LITTLE, {"name": "zstd", "configuration": {"level": 3, "checksum": false}})")));
  ArrayCircumstances circumstances;
  circumstances.zstd_without_size = true;
  const Presentation contained = present(document, with_profile("generic"), circumstances);
  EXPECT_EQ(contained.rule, ByteRule::kBloscWrap);
  ViewOptions options = with_profile("generic");
  options.columns = {{"compressors", "zstd"}};
  const Presentation decoded = present(document, options, circumstances);
  EXPECT_EQ(decoded.rule, ByteRule::kDecode);
  EXPECT_NE(decoded.reason.find("content size"), std::string::npos) << decoded.reason;
}

TEST(V2Codecs, StringsNeedTheirFilter) {
  for (
      const CodecRow& row : {
          CodecRow{
              "generic", "string",
              R"({"name": "vlen-utf8"}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}})",
              "|O", R"({"id": "zstd", "level": 1})", R"([{"id": "vlen-utf8"}])", "C",
              ByteRule::kVerbatim, 100},
          CodecRow{"gdal", "string", R"({"name": "vlen-utf8"})", nullptr, nullptr, nullptr, nullptr,
                   ByteRule::kVerbatim, 0},
          CodecRow{
              "ome", "string",
              R"({"name": "vlen-utf8"}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}})",
              nullptr, nullptr, nullptr, nullptr, ByteRule::kVerbatim, 0},
          CodecRow{"generic", "string", R"({"name": "zarrs.vlen_v2"})", "|O", "null",
                   R"([{"id": "vlen-utf8"}])", "C", ByteRule::kVerbatim, 100},

      }) {
    expect_row(row);
  }
}

}  // namespace
}  // namespace zarrfs::present_test
