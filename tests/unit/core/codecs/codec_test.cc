#include "core/codecs/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/json.h"

namespace zarrfs {
namespace {

DataType type_of(const std::string& name) { return *parse_data_type(*parse_json(name, "type")); }

std::vector<CodecSpec> specs_of(const std::string& text) {
  std::vector<CodecSpec> specs;
  const auto list = parse_json(text, "codecs");
  EXPECT_TRUE(list) << text;
  for (const Json& one : *list) specs.push_back(*parse_codec_spec(one));
  return specs;
}

Result<CodecChain> chain_of(const std::string& text, const std::string& type,
                            std::vector<std::uint64_t> shape) {
  return CodecChain::make(specs_of(text), {type_of(type), std::move(shape)});
}

CodecChain whole_chain(const std::string& text, const std::string& type,
                       std::vector<std::uint64_t> shape) {
  auto chain = chain_of(text, type, std::move(shape));
  EXPECT_TRUE(chain) << text << ": " << (chain ? "" : chain.error().message);
  return chain.value_or(CodecChain{});
}

Fault fault_of_chain(const std::string& text, const std::string& type,
                     std::vector<std::uint64_t> shape) {
  const auto chain = chain_of(text, type, std::move(shape));
  EXPECT_FALSE(chain) << text;
  return chain ? Fault::kIo : chain.error().fault;
}

Bytes counted(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

/// Encodes `elements`, expects `stored`, and decodes again.
void expect_encoding(const CodecChain& chain, const Bytes& elements, const Bytes& stored) {
  const auto encoded = chain.encode(elements);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(*encoded, stored);
  const auto decoded = chain.decode(stored);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, elements);
}

constexpr const char* kLittle = R"([{"name": "bytes", "configuration": {"endian": "little"}}])";
constexpr const char* kBig = R"([{"name": "bytes", "configuration": {"endian": "big"}}])";

// ---- names -----------------------------------------------------------------------------------

TEST(CodecSpecs, AreReadInEveryForm) {
  EXPECT_EQ(parse_codec_spec("crc32c")->name, "crc32c");
  EXPECT_EQ(parse_codec_spec(Json{{"name", "endian"}})->name, "bytes");
  EXPECT_EQ(
      parse_codec_spec(Json{{"name", "https://codec.zarrs.dev/array_to_bytes/vlen_v2"}})->name,
      "vlen-bytes");
  const auto spec = parse_codec_spec(*parse_json(
      R"({"name": "zstd", "configuration": {"level": 3}, "must_understand": false})", "codec"));
  EXPECT_EQ(dump_json(spec->configuration), R"({"level":3})");
  EXPECT_FALSE(spec->must_understand);
}

TEST(CodecSpecs, MalformedOnesAreDamaged) {
  for (const char* text :
       {"1", "null", "{}", R"({"name": 1})", R"({"name": "a", "configuration": 3})",
        R"({"name": "a", "must_understand": "no"})"}) {
    const auto spec = parse_codec_spec(*parse_json(text, "codec"));
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().fault, Fault::kDamaged);
  }
}

TEST(CodecNames, AreSortedAndCanonical) {
  const auto names = codec_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) EXPECT_EQ(canonical_codec_name(name), name);
}

// ---- bytes -----------------------------------------------------------------------------------

TEST(BytesCodec, TurnsBigEndianRound) {
  expect_encoding(whole_chain(kLittle, R"("uint16")", {2}), {1, 2, 3, 4}, {1, 2, 3, 4});
  expect_encoding(whole_chain(kBig, R"("uint16")", {2}), {1, 2, 3, 4}, {2, 1, 4, 3});
  expect_encoding(whole_chain(kBig, R"("complex64")", {1}), counted(8), {3, 2, 1, 0, 7, 6, 5, 4});
  expect_encoding(whole_chain(kBig, R"("int8")", {3}), {1, 2, 3}, {1, 2, 3});
}

TEST(BytesCodec, NeedsAnOrderOnlyWhereTheTypeThatReachesItHasOne) {
  EXPECT_TRUE(chain_of(R"(["bytes"])", R"("uint8")", {4}));
  EXPECT_EQ(fault_of_chain(R"(["bytes"])", R"("uint16")", {4}), Fault::kDamaged);
  EXPECT_TRUE(chain_of(R"([{"name": "numcodecs.astype", "configuration":
                            {"encode_dtype": "|u1", "decode_dtype": "<f4"}}, "bytes"])",
                       R"("float32")", {4}));
}

TEST(BytesCodec, RefusesAnotherLengthByNumbers) {
  const CodecChain chain = whole_chain(kLittle, R"("uint16")", {2});
  EXPECT_EQ(chain.decode(counted(5)).error().message,
            "bytes: 5 bytes where the chunk's elements take 4");
  EXPECT_EQ(chain.encode(counted(3)).error().fault, Fault::kInvalid);
}

// ---- array to array --------------------------------------------------------------------------

TEST(TransposeCodec, MovesDimensions) {
  const std::string bytes = R"(, "bytes"])";
  const auto transpose = [](const std::string& order) {
    return R"([{"name": "transpose", "configuration": {"order": )" + order + "}}";
  };
  expect_encoding(whole_chain(transpose("[1, 0]") + bytes, R"("uint8")", {2, 3}),
                  {0, 1, 2, 3, 4, 5}, {0, 3, 1, 4, 2, 5});
  expect_encoding(whole_chain(transpose("\"F\"") + bytes, R"("uint8")", {2, 3}), {0, 1, 2, 3, 4, 5},
                  {0, 3, 1, 4, 2, 5});
  expect_encoding(whole_chain(transpose("\"C\"") + bytes, R"("uint8")", {2, 3}), {0, 1, 2, 3, 4, 5},
                  {0, 1, 2, 3, 4, 5});
  // numpy.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)
  expect_encoding(
      whole_chain(transpose("[2, 0, 1]") + bytes, R"("uint8")", {2, 3, 4}), counted(24),
      {0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23});
  expect_encoding(whole_chain(transpose("[1, 0]") + bytes, R"("r24")", {2, 2}), counted(12),
                  {0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11});
  expect_encoding(whole_chain(transpose("[]") + bytes, R"("uint8")", {}), {7}, {7});
  expect_encoding(whole_chain(transpose("[0]") + bytes, R"("uint8")", {3}), {7, 8, 9}, {7, 8, 9});
}

TEST(TransposeCodec, MovesStrings) {
  const CodecChain chain =
      whole_chain(R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, "vlen-utf8"])",
                  R"("string")", {2, 2});
  expect_encoding(chain,
                  {4, 0, 0, 0, 1, 0, 0, 0, 'a', 2, 0, 0, 0, 'b', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 'd'},
                  {4, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0, 0, 2, 0, 0, 0, 'b', 'b', 1, 0, 0, 0, 'd'});
}

TEST(TransposeCodec, RefusesWhatIsNoPermutation) {
  for (const char* order : {"[0, 0]", "[0]", "[0, 2]", "[-1, 0]", "\"X\"", "3", "null"}) {
    const std::string text = R"([{"name": "transpose", "configuration": {"order": )" +
                             std::string(order) + R"(}}, "bytes"])";
    EXPECT_EQ(fault_of_chain(text, R"("uint8")", {2, 3}), Fault::kDamaged) << order;
  }
}

TEST(ReshapeCodec, KeepsTheOrderAndGivesTheNextCodecItsShape) {
  const CodecChain chain = whole_chain(
      R"([{"name": "reshape", "configuration": {"shape": [[0, 1], -1]}},
          {"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes"])",
      R"("uint8")", {1, 2, 3});
  expect_encoding(chain, {0, 1, 2, 3, 4, 5}, {0, 3, 1, 4, 2, 5});
  for (const char* shape : {"[4]", "[-1, -1]", "[[1], [0], 3]", "[[9]]", "[-2]", "[4, -1]", "3"}) {
    const std::string text = R"([{"name": "reshape", "configuration": {"shape": )" +
                             std::string(shape) + R"(}}, "bytes"])";
    EXPECT_EQ(fault_of_chain(text, R"("uint8")", {1, 2, 3}), Fault::kDamaged) << shape;
  }
}

TEST(ScaleOffsetCodec, CalculatesInTheTypeOfTheElements) {
  const std::string integers =
      R"([{"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}}, "bytes"])";
  expect_encoding(whole_chain(integers, R"("int8")", {3}), {5, 6, 4}, {0, 2, 0xFE});
  EXPECT_EQ(whole_chain(integers, R"("int8")", {1}).decode(Bytes{3}).error().fault,
            Fault::kDamaged);
  EXPECT_EQ(whole_chain(integers, R"("int8")", {1}).encode(Bytes{127}).error().fault,
            Fault::kInvalid);
  EXPECT_EQ(fault_of_chain(R"([{"name": "scale_offset", "configuration": {"scale": 0}}, "bytes"])",
                           R"("int8")", {1}),
            Fault::kDamaged);
  // (3.5 - 0.5) * 2
  const std::string floats =
      R"([{"name": "scale_offset", "configuration": {"offset": 0.5, "scale": 2}}, "endian"])";
  EXPECT_EQ(fault_of_chain(floats, R"("float32")", {1}), Fault::kDamaged);
  const CodecChain chain = whole_chain(
      R"([{"name": "scale_offset", "configuration": {"offset": 0.5, "scale": 2}},
          {"name": "bytes", "configuration": {"endian": "little"}}])",
      R"("float32")", {1});
  expect_encoding(chain, {0, 0, 0x60, 0x40}, {0, 0, 0xC0, 0x40});
}

TEST(CastValueCodec, RoundsAndHandlesWhatIsOutOfRange) {
  const auto cast = [](const std::string& more) {
    return R"([{"name": "cast_value", "configuration": {"data_type": "uint8")" + more +
           R"(}}, "bytes"])";
  };
  const auto encode = [&](const std::string& more, std::int16_t value) {
    Bytes element;
    append_little(element, value);
    return whole_chain(cast(more), R"("int16")", {1}).encode(element);
  };
  EXPECT_EQ(encode("", 200), Bytes{200});
  EXPECT_EQ(encode("", 300).error().fault, Fault::kInvalid);
  EXPECT_EQ(encode(R"(, "out_of_range": "clamp")", 300), Bytes{255});
  EXPECT_EQ(encode(R"(, "out_of_range": "clamp")", -3), Bytes{0});
  EXPECT_EQ(encode(R"(, "out_of_range": "wrap")", 300), Bytes{44});
  const auto round = [&](const std::string& rounding, double value) {
    Bytes element;
    append_little(element, value);
    return *whole_chain(cast(R"(, "rounding": ")" + rounding + "\""), R"("float64")", {1})
                .encode(element);
  };
  EXPECT_EQ(round("nearest-even", 2.5), Bytes{2});
  EXPECT_EQ(round("nearest-away", 2.5), Bytes{3});
  EXPECT_EQ(round("towards-positive", 2.1), Bytes{3});
  EXPECT_EQ(round("towards-negative", 2.9), Bytes{2});
  EXPECT_EQ(round("towards-zero", 2.9), Bytes{2});
  EXPECT_EQ(whole_chain(cast(""), R"("float64")", {1}).decode(Bytes{7}),
            (Bytes{0, 0, 0, 0, 0, 0, 0x1C, 0x40}));
}

TEST(NumberCodecs, RefuseOtherTypesAndBigEndianConfigurations) {
  const char* const big =
      R"([{"name": "numcodecs.delta", "configuration": {"dtype": ">i4"}}, "bytes"])";
  EXPECT_EQ(fault_of_chain(big, R"("int32")", {1}), Fault::kUnsupported);
  const char* const other =
      R"([{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}, "bytes"])";
  EXPECT_EQ(fault_of_chain(other, R"("int16")", {1}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"(["numcodecs.delta", "bytes"])", R"("string")", {1}),
            Fault::kUnsupported);
  EXPECT_EQ(fault_of_chain(R"(["numcodecs.astype", "bytes"])", R"("int8")", {1}), Fault::kDamaged);
}

// ---- array to bytes --------------------------------------------------------------------------

TEST(PackbitsCodec, PacksTheLowestBitFirst) {
  expect_encoding(whole_chain(R"(["packbits"])", R"("bool")", {6}), {1, 0, 1, 1, 0, 0}, {0x0D});
  expect_encoding(whole_chain(R"(["packbits"])", R"("int4")", {3}), {0x01, 0xFF, 0xF8},
                  {0xF1, 0x08});
  expect_encoding(whole_chain(R"(["packbits"])", R"("uint2")", {5}), {0, 1, 2, 3, 1}, {0xE4, 0x01});
  expect_encoding(whole_chain(R"(["packbits"])", R"("float6_e2m3fn")", {2}), {0x3F, 0x21},
                  {0x7F, 0x08});
  expect_encoding(whole_chain(R"(["packbits"])", R"("uint16")", {1}), {1, 2}, {1, 2});
  expect_encoding(
      whole_chain(R"([{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}])",
                  R"("bool")", {9}),
      {1, 0, 0, 0, 0, 0, 0, 0, 1}, {7, 1, 1});
  expect_encoding(
      whole_chain(R"([{"name": "packbits", "configuration": {"first_bit": 1, "last_bit": 3}}])",
                  R"("int8")", {3}),
      {0x02, 0xF8, 0x06}, {0xE1, 0x00});
}

TEST(PackbitsCodec, RefusesOtherSizesAndPadding) {
  EXPECT_EQ(whole_chain(R"(["packbits"])", R"("bool")", {9}).decode(Bytes{1}).error().fault,
            Fault::kDamaged);
  const CodecChain padded =
      whole_chain(R"([{"name": "packbits", "configuration": {"padding_encoding": "last_byte"}}])",
                  R"("bool")", {3});
  EXPECT_TRUE(padded.decode(Bytes{5, 5}));
  EXPECT_EQ(padded.decode(Bytes{5, 4}).error().fault, Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"([{"name": "packbits", "configuration": {"first_bit": 4}}])",
                           R"("int4")", {1}),
            Fault::kDamaged);
}

TEST(VlenCodecs, PassItemsThroughOnceTheyAreCounted) {
  const CodecChain chain = whole_chain(R"(["vlen-bytes"])", R"("variable_length_bytes")", {2});
  const Bytes items = {2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0};
  expect_encoding(chain, items, items);
  for (std::size_t size = 0; size < items.size(); ++size) {
    EXPECT_FALSE(chain.decode(ByteView(items).first(size))) << size;
  }
  EXPECT_FALSE(chain.decode(Bytes{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(chain.decode(Bytes{2, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}));
  Bytes longer = items;
  longer.push_back(0);
  EXPECT_FALSE(chain.decode(longer));
  EXPECT_EQ(whole_chain(R"(["zarrs.vlen_v2"])", R"("string")", {1}).steps()[0].spec.name,
            "vlen-utf8");
  EXPECT_EQ(fault_of_chain(R"(["vlen-utf8"])", R"("int8")", {1}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"(["bytes"])", R"("string")", {1}), Fault::kDamaged);
}

// ---- chains ----------------------------------------------------------------------------------

TEST(Chains, UndoEverythingTheyDo) {
  const CodecChain chain = whole_chain(
      R"([{"name": "transpose", "configuration": {"order": [1, 0]}},
          {"name": "numcodecs.delta", "configuration": {"dtype": "<u2"}},
          {"name": "bytes", "configuration": {"endian": "big"}},
          {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
          {"name": "zstd", "configuration": {"level": 1}}, "crc32c"])",
      R"("uint16")", {30, 40});
  Bytes elements;
  for (std::uint32_t i = 0; i < 1200; ++i)
    append_little(elements, static_cast<std::uint16_t>(i * i));
  const auto encoded = chain.encode(elements);
  ASSERT_TRUE(encoded);
  EXPECT_EQ(chain.decode(*encoded), elements);
}

TEST(Chains, MustHaveTheirStagesInOrder) {
  EXPECT_EQ(fault_of_chain("[]", R"("uint8")", {1}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"(["crc32c"])", R"("uint8")", {1}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"(["crc32c", "bytes"])", R"("uint8")", {1}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"(["bytes", "bytes"])", R"("uint8")", {1}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(R"(["bytes", {"name": "transpose", "configuration": {"order": [0]}}])",
                           R"("uint8")", {1}),
            Fault::kDamaged);
}

TEST(Chains, LeaveOutOnlyUnknownCodecsThatMayBeIgnored) {
  EXPECT_EQ(fault_of_chain(R"(["bytes", "zarrs.gdeflate"])", R"("uint8")", {1}),
            Fault::kUnsupported);
  const CodecChain chain =
      whole_chain(R"(["bytes", {"name": "x.hint", "must_understand": false}])", R"("uint8")", {2});
  EXPECT_EQ(chain.steps().size(), 1U);
  expect_encoding(chain, {1, 2}, {1, 2});
}

TEST(Chains, OfImpossibleSizesAreDamaged) {
  EXPECT_EQ(fault_of_chain(kLittle, R"("uint64")", {1ULL << 40U, 1ULL << 40U}), Fault::kDamaged);
  EXPECT_EQ(fault_of_chain(kLittle, R"("uint64")", {1ULL << 46U}), Fault::kDamaged);
  EXPECT_TRUE(chain_of(kLittle, R"("uint64")", {0, 5}));
}

TEST(Chains, HoldDecompressionBombsDown) {
  for (const char* name : {"gzip", "zstd", "numcodecs.zlib", "numcodecs.bz2", "numcodecs.lzma",
                           "blosc", "numcodecs.lz4"}) {
    const CodecSpec spec{name};
    const auto bomb = CodecChain::make_bytes_only({spec})->encode(Bytes(4'000'000, 0));
    ASSERT_TRUE(bomb) << name;
    const CodecChain chain =
        whole_chain(R"(["bytes", ")" + std::string(name) + "\"]", R"("uint8")", {1000});
    const auto decoded = chain.decode(*bomb);
    ASSERT_FALSE(decoded) << name;
    EXPECT_EQ(decoded.error().fault, Fault::kDamaged) << name;
  }
}

TEST(Chains, SayWhichCodecFoundTheDamage) {
  const CodecChain chain = whole_chain(R"(["bytes", "crc32c", "crc32c"])", R"("uint8")", {3});
  auto stored = chain.encode(Bytes{1, 2, 3});
  ASSERT_TRUE(stored);
  EXPECT_TRUE(chain.decode(*stored));
  const CodecChain longer = whole_chain(R"(["bytes", "crc32c", "crc32c"])", R"("uint8")", {4});
  EXPECT_EQ(longer.decode(*stored).error().message,
            "bytes: 3 bytes where the chunk's elements take 4");
  stored->front() ^= 1U;
  EXPECT_FALSE(chain.decode(*stored));
}

TEST(Chains, ReadSeveralMembersAndFrames) {
  for (const char* name : {"gzip", "zstd", "numcodecs.bz2", "numcodecs.lzma"}) {
    const CodecChain chain =
        whole_chain(R"(["bytes", ")" + std::string(name) + "\"]", R"("uint8")", {6});
    const CodecChain half =
        whole_chain(R"(["bytes", ")" + std::string(name) + "\"]", R"("uint8")", {3});
    Bytes stored = *half.encode(Bytes{1, 2, 3});
    const Bytes second = *half.encode(Bytes{4, 5, 6});
    stored.insert(stored.end(), second.begin(), second.end());
    EXPECT_EQ(chain.decode(stored), (Bytes{1, 2, 3, 4, 5, 6})) << name;
    stored.push_back(7);
    EXPECT_FALSE(chain.decode(stored)) << name;
  }
}

TEST(ZstdCodec, ReadsFramesThatDoNotTellTheirSize) {
  // From zstd 1.5: printf 'abcabcabcabc' | zstd --no-check, through a pipe.
  const Bytes frame = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x61, 0x00, 0x00, 0x61, 0x62,
                       0x63, 0x61, 0x62, 0x63, 0x61, 0x62, 0x63, 0x61, 0x62, 0x63};
  const CodecChain chain = whole_chain(R"(["bytes", "zstd"])", R"("uint8")", {12});
  const auto decoded = chain.decode(frame);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(std::string(decoded->begin(), decoded->end()), "abcabcabcabc");
  EXPECT_FALSE(chain.decode(ByteView(frame).first(frame.size() - 1)));
  EXPECT_FALSE(whole_chain(R"(["bytes", "zstd"])", R"("uint8")", {11}).decode(frame));
}

TEST(CompressorSettings, OutOfRangeAreDamagedByName) {
  for (const char* codec : {
           R"({"name": "gzip", "configuration": {"level": 10}})",
           R"({"name": "zstd", "configuration": {"level": 23}})",
           R"({"name": "zstd", "configuration": {"checksum": 1}})",
           R"({"name": "blosc", "configuration": {"cname": "lzo"}})",
           R"({"name": "blosc", "configuration": {"shuffle": 3}})",
           R"({"name": "blosc", "configuration": {"clevel": -1}})",
           R"({"name": "numcodecs.crc32", "configuration": {"location": "middle"}})",
           R"({"name": "numcodecs.lzma", "configuration": {"preset": 10}})",
           R"({"name": "numcodecs.bz2", "configuration": {"level": 0}})",
           R"({"name": "numcodecs.bz2", "configuration": {"level": 1.5}})",
       }) {
    EXPECT_EQ(fault_of_chain(R"(["bytes", )" + std::string(codec) + "]", R"("uint8")", {1}),
              Fault::kDamaged)
        << codec;
  }
}

}  // namespace
}  // namespace zarrfs
