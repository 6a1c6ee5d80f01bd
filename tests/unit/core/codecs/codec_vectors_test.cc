// Encodings that numcodecs 0.16 and numpy 2 made, in hexadecimal.
#include <gtest/gtest.h>

#include <string>

#include "core/base/json.h"
#include "core/codecs/codec.h"

namespace zarrfs {
namespace {

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Elements elements_of(const std::string& type, std::uint64_t count) {
  return {*parse_data_type(type), {count}};
}

std::unique_ptr<Codec> codec_of(const std::string& name, const std::string& configuration,
                                const Elements& elements) {
  const CodecSpec spec{name, *parse_json(configuration, "configuration"), true};
  auto codec = make_codec(spec, elements);
  EXPECT_TRUE(codec) << name << configuration << ": " << (codec ? "" : codec.error().message);
  return codec ? std::move(*codec) : nullptr;
}

/// The int32 elements 0 to 23.
Bytes counted_up() {
  Bytes bytes;
  for (std::int32_t i = 0; i < 24; ++i) append_little(bytes, i);
  return bytes;
}

struct BytesVector {
  const char* name;
  const char* configuration;
  const char* encoded;
};

const BytesVector kBytesVectors[] = {
    {R"(gzip)", R"({"level": 5})",
     "1f8b0800c69b016b00ff0dc3070e80201000b0431cb8078effffd436694444b231dbdad93b581c9d9c5d5cdddc3d3"
     "cbdacde3ebe7efecbdbba1a60000000"},
    {R"(numcodecs.zlib)", R"({"level": 1})",
     "78010dc3070e80201000b0431cb8078effffd436694444b231dbdad93b581c9d9c5d5cdddc3d3cbdacde3ebe7efe2"
     "4500115"},
    {R"(zstd)", R"({"level": 3, "checksum": false})",
     "28b52ffd20604501000206090910a09e03c3590f8d146fce7cb9f2e4c88f1b2f4e7cb8f0e0c0dfdddbd9d7d5d3d1c"
     "f0700"},
    {R"(zstd)", R"({"level": 3, "checksum": true})",
     "28b52ffd24604501000206090910a09e03c3590f8d146fce7cb9f2e4c88f1b2f4e7cb8f0e0c0dfdddbd9d7d5d3d1c"
     "f070026745dd1"},
    {R"(blosc)",
     R"({"cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "typesize": 4, "blocksize": 0})",
     "020132046000000060000000700000000000000001000000020000000300000004000000050000000600000007000"
     "00008000000090000000a0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013"
     "00000014000000150000001600000017000000"},
    {R"(blosc)",
     R"({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0})",
     "020133046000000060000000700000000000000001000000020000000300000004000000050000000600000007000"
     "00008000000090000000a0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013"
     "00000014000000150000001600000017000000"},
    {R"(blosc)",
     R"({"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0})",
     "020136046000000060000000700000000000000001000000020000000300000004000000050000000600000007000"
     "00008000000090000000a0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013"
     "00000014000000150000001600000017000000"},
    {R"(blosc)",
     R"({"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0})",
     "020193046000000060000000700000000000000001000000020000000300000004000000050000000600000007000"
     "00008000000090000000a0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013"
     "00000014000000150000001600000017000000"},
    {R"(numcodecs.blosc)", R"({"cname": "blosclz"})",
     "020113046000000060000000700000000000000001000000020000000300000004000000050000000600000007000"
     "00008000000090000000a0000000b0000000c0000000d0000000e0000000f00000010000000110000001200000013"
     "00000014000000150000001600000017000000"},
    {R"(numcodecs.lz4)", R"({"acceleration": 1})",
     "60000000f051000000000100000002000000030000000400000005000000060000000700000008000000090000000"
     "a0000000b0000000c0000000d0000000e0000000f0000001000000011000000120000001300000014000000150000"
     "001600000017000000"},
    {R"(numcodecs.bz2)", R"({"level": 1})",
     "425a6831314159265359dfa93561000001e0007fffff80200021a400000c85068d1a0c80d114416c6b9f08ca74ada"
     "f8ceb7cef8d0c81003e2ee48a70a121bf526ac2"},
    {R"(numcodecs.lzma)", R"({"format": 1, "check": -1, "preset": null, "filters": null})",
     "fd377a585a000004e6d6b4460200210116000000742fe5a3e0005f002b5d0000687ebf0a82ad1ce65c818cf6d9477"
     "bccf98d5d7f316f3478c6a2b11e47287546d92e31a805435afe31620000a8db02fd16f1b61e00014760b10d0cd21f"
     "b6f37d010000000004595a"},
    {R"(numcodecs.lzma)", R"({"format": 2, "preset": 1})",
     "5d00001000ffffffffffffffff0000687e9e2040a60b69998b065a8b0094e93ec008161aa4a02e49651a68a7a4705"
     "64bc3d0b1f86e3690d8fb653d1b413d5c3a7e2b7822d2639ff9dbfffeb72000"},
    {R"(numcodecs.crc32)", R"({})",
     "cbdbba1a000000000100000002000000030000000400000005000000060000000700000008000000090000000a000"
     "0000b0000000c0000000d0000000e0000000f00000010000000110000001200000013000000140000001500000016"
     "00000017000000"},
    {R"(numcodecs.crc32)", R"({"location": "end"})",
     "000000000100000002000000030000000400000005000000060000000700000008000000090000000a0000000b000"
     "0000c0000000d0000000e0000000f0000001000000011000000120000001300000014000000150000001600000017"
     "000000cbdbba1a"},
    {R"(numcodecs.adler32)", R"({})",
     "15015024000000000100000002000000030000000400000005000000060000000700000008000000090000000a000"
     "0000b0000000c0000000d0000000e0000000f00000010000000110000001200000013000000140000001500000016"
     "00000017000000"},
    {R"(crc32c)", R"({})",
     "000000000100000002000000030000000400000005000000060000000700000008000000090000000a0000000b000"
     "0000c0000000d0000000e0000000f0000001000000011000000120000001300000014000000150000001600000017"
     "00000040c58f18"},
    {R"(numcodecs.crc32c)", R"({"location": "start"})",
     "40c58f18000000000100000002000000030000000400000005000000060000000700000008000000090000000a000"
     "0000b0000000c0000000d0000000e0000000f00000010000000110000001200000013000000140000001500000016"
     "00000017000000"},
    {R"(numcodecs.jenkins_lookup3)", R"({})",
     "000000000100000002000000030000000400000005000000060000000700000008000000090000000a0000000b000"
     "0000c0000000d0000000e0000000f0000001000000011000000120000001300000014000000150000001600000017"
     "000000478d8b47"},
    {R"(numcodecs.jenkins_lookup3)", R"({"initval": 1234567, "prefix": [1, 2, 3]})",
     "000000000100000002000000030000000400000005000000060000000700000008000000090000000a0000000b000"
     "0000c0000000d0000000e0000000f0000001000000011000000120000001300000014000000150000001600000017"
     "0000004e1338c9"},
    {R"(numcodecs.fletcher32)", R"({})",
     "000000000100000002000000030000000400000005000000060000000700000008000000090000000a0000000b000"
     "0000c0000000d0000000e0000000f0000001000000011000000120000001300000014000000150000001600000017"
     "000000011411f8"},
    {R"(numcodecs.shuffle)", R"({"elementsize": 4})",
     "000102030405060708090a0b0c0d0e0f1011121314151617000000000000000000000000000000000000000000000"
     "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "000000"},
};

TEST(BytesCodecs, DecodeWhatNumcodecsEncodes) {
  const Elements elements = elements_of("int32", 24);
  for (const BytesVector& vector : kBytesVectors) {
    const auto codec = codec_of(vector.name, vector.configuration, elements);
    ASSERT_TRUE(codec);
    const Bytes encoded = from_hex(vector.encoded);
    const auto decoded = codec->decode(encoded, elements, elements.bytes());
    ASSERT_TRUE(decoded) << vector.name << ": " << decoded.error().message;
    EXPECT_EQ(*decoded, counted_up()) << vector.name;
  }
}

TEST(BytesCodecs, DecodeWhatTheyEncode) {
  const Elements elements = elements_of("int32", 24);
  for (const BytesVector& vector : kBytesVectors) {
    const auto codec = codec_of(vector.name, vector.configuration, elements);
    const auto encoded = codec->encode(counted_up(), elements);
    ASSERT_TRUE(encoded) << vector.name << ": " << encoded.error().message;
    EXPECT_EQ(codec->decode(*encoded, elements, elements.bytes()), counted_up()) << vector.name;
  }
}

TEST(BytesCodecs, ChecksumsAndZstdEncodeTheSameBytes) {
  const Elements elements = elements_of("int32", 24);
  for (const BytesVector& vector : kBytesVectors) {
    const std::string name = vector.name;
    const auto codec = codec_of(name, vector.configuration, elements);
    if (!codec->fixed_overhead() && name != "zstd" && name != "numcodecs.shuffle") continue;
    EXPECT_EQ(codec->encode(counted_up(), elements), from_hex(vector.encoded)) << name;
  }
}

TEST(BytesCodecs, RefuseEveryTruncation) {
  const Elements elements = elements_of("int32", 24);
  for (const BytesVector& vector : kBytesVectors) {
    const std::string name = vector.name;
    const auto codec = codec_of(name, vector.configuration, elements);
    const Bytes encoded = from_hex(vector.encoded);
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      const ByteView part = ByteView(encoded).first(size);
      const auto decoded = codec->decode(part, elements, elements.bytes());
      EXPECT_TRUE(!decoded || *decoded != counted_up()) << name << " cut to " << size;
      // Four zero bytes are the checksum of none, shuffle has none, and the old lzma container may
      // leave its end mark out.
      const bool tells = size != 4 && name != "numcodecs.lzma" && name != "numcodecs.shuffle";
      EXPECT_TRUE(!tells || !decoded) << name << " cut to " << size;
    }
  }
}

TEST(BytesCodecs, NeverExceedTheirLimit) {
  const Elements elements = elements_of("int32", 24);
  for (const BytesVector& vector : kBytesVectors) {
    const auto codec = codec_of(vector.name, vector.configuration, elements);
    const auto decoded = codec->decode(from_hex(vector.encoded), elements, elements.bytes() - 1);
    ASSERT_FALSE(decoded) << vector.name;
    EXPECT_EQ(decoded.error().fault, Fault::kDamaged) << vector.name;
  }
}

TEST(BytesCodecs, SurviveEveryFlippedByte) {
  const Elements elements = elements_of("int32", 24);
  for (const BytesVector& vector : kBytesVectors) {
    const auto codec = codec_of(vector.name, vector.configuration, elements);
    Bytes encoded = from_hex(vector.encoded);
    for (std::uint8_t& byte : encoded) {
      for (const std::uint8_t flip : {0x01, 0x80, 0xFF}) {
        byte ^= flip;
        const auto decoded = codec->decode(encoded, elements, elements.bytes());
        EXPECT_TRUE(!decoded || decoded->size() <= elements.bytes()) << vector.name;
        EXPECT_TRUE(!codec->fixed_overhead() || !decoded) << vector.name;
        byte ^= flip;
      }
    }
  }
}

struct NumbersVector {
  const char* name;
  const char* configuration;
  const char* type;
  const char* elements;
  const char* encoded;
  const char* decoded;
};

const NumbersVector kNumbersVectors[] = {
    {R"(numcodecs.delta)", R"({"dtype": "<i2"})", "int16", "05000300c800f9ff0000ff7f",
     "0500feffc50031ff0700ff7f", "05000300c800f9ff0000ff7f"},
    {R"(numcodecs.delta)", R"({"dtype": "int16", "astype": "<i8"})", "int16",
     "05000300c800f9ff0000ff7f",
     "0500000000000000feffffffffffffffc50000000000000031ffffffffffffff0700000000000000ff7f000000000"
     "000",
     "05000300c800f9ff0000ff7f"},
    {R"(numcodecs.delta)", R"({"dtype": "<f4"})", "float32",
     "0000c03f000010c0d00f494010007a44000000004260e53b",
     "0000c03f000070c0e887ac400037794410007ac44260e53b",
     "0000c03f000010c0d00f494010007a44000000004260e53b"},
    {R"(numcodecs.delta)", R"({"dtype": "<f8", "astype": "<f4"})", "float64",
     "000000000000f83f00000000000002c000000000fa2109400000000002408f4000000000000000000000004008ac7"
     "c3f",
     "0000c03f000070c0e887ac400037794410007ac44260e53b",
     "000000000000f83f00000000000002c000000000fa210940000000fa01408f40000000000000e8be0000004008a07"
     "c3f"},
    {R"(numcodecs.delta)", R"({"dtype": "<f2"})", "float16", "003e80c04842d06300002b1f",
     "003e80c36445ca63d0e32b1f", "003e80c04842d06300002b1f"},
    {R"(numcodecs.fixedscaleoffset)",
     R"({"offset": -3, "scale": 10, "dtype": "<f8", "astype": "|u1"})", "float64",
     "0000000000000000295c8fc2f528f43f00000000000004c00ad7a3703d0a344033333333333316400000000000000"
     "840",
     "1e2b05e6563c",
     "0000000000000000ccccccccccccf43f00000000000004c0000000000000344066666666666616400000000000000"
     "840"},
    {R"(numcodecs.fixedscaleoffset)", R"({"offset": 0.1, "scale": 3.7, "dtype": "<f4"})", "float32",
     "0000c03f000010c0d00f494010007a44000000004260e53b",
     "0000a040000010c100003041004067450000008000000080",
     "e2c5b93f934615c096ab444066067a44cdcccc3dcdcccc3d"},
    {R"(numcodecs.fixedscaleoffset)",
     R"({"offset": 0.1, "scale": 3.7, "dtype": "<f4", "astype": "<i2"})", "float32",
     "0000c03f000010c0d00f494010007a44000000004260e53b", "0500f7ff0b00740e00000000",
     "e2c5b93f934615c097ab444066067a44cdcccc3dcdcccc3d"},
    {R"(numcodecs.fixedscaleoffset)",
     R"({"offset": 0.1, "scale": 3.7, "dtype": "<f2", "astype": "<f4"})", "float16",
     "003e80c04842d06300002b1f", "0000a040000010c100003041004067450000008000000080",
     "ce3daac02542d063662e662e"},
    {R"(numcodecs.astype)", R"({"encode_dtype": "<f4", "decode_dtype": "<f8"})", "float64",
     "555555555555d53f555555555555e53f9c7500883ce4377e000000000000144000000000000018400000000000001"
     "c40",
     "abaaaa3eabaa2a3f0000807f0000a0400000c0400000e040",
     "000000605555d53f000000605555e53f000000000000f07f000000000000144000000000000018400000000000001"
     "c40"},
    {R"(numcodecs.astype)", R"({"encode_dtype": "|i1", "decode_dtype": "<i2"})", "int16",
     "05000300c800f9ff0000ff7f", "0503c8f900ff", "05000300c8fff9ff0000ffff"},
    {R"(numcodecs.quantize)", R"({"digits": 2, "dtype": "<f4"})", "float32",
     "0000c03f000010c0d00f494010007a44000000004260e53b",
     "0000c03f000010c00000494000007a44000000000000003c",
     "0000c03f000010c00000494000007a44000000000000003c"},
    {R"(numcodecs.quantize)", R"({"digits": 1, "dtype": "<f8", "astype": "<f2"})", "float64",
     "000000000000f83f00000000000002c000000000fa2109400000000002408f4000000000000000000000004008ac7"
     "c3f",
     "003e80c04042d06300000000",
     "000000000000f83f00000000000002c000000000000009400000000000408f4000000000000000000000000000000"
     "000"},
    {R"(numcodecs.bitround)", R"({"keepbits": 4})", "float32",
     "0000c03f000010c0d00f494010007a44000000004260e53b",
     "0000c03f000010c00000484000007844000000000000e83b",
     "0000c03f000010c00000484000007844000000000000e83b"},
    {R"(bitround)", R"({"keepbits": 20})", "float64",
     "000000000000f83f00000000000002c000000000fa2109400000000002408f4000000000000000000000004008ac7"
     "c3f",
     "000000000000f83f00000000000002c000000000fa2109400000000002408f4000000000000000000000000008ac7"
     "c3f",
     "000000000000f83f00000000000002c000000000fa2109400000000002408f4000000000000000000000000008ac7"
     "c3f"},
    {R"(numcodecs.packbits)", R"({})", "bool", "010001010000", "02b0", "010001010000"},
};

TEST(NumberCodecs, EncodeAndDecodeAsNumcodecsDoes) {
  for (const NumbersVector& vector : kNumbersVectors) {
    const Bytes raw = from_hex(vector.elements);
    const Elements elements = elements_of(vector.type, 6);
    const auto codec = codec_of(vector.name, vector.configuration, elements);
    ASSERT_TRUE(codec);
    EXPECT_EQ(codec->stage(), CodecStage::kArrayToArray);
    const auto encoded = codec->encode(raw, elements);
    ASSERT_TRUE(encoded) << vector.name << ": " << encoded.error().message;
    EXPECT_EQ(*encoded, from_hex(vector.encoded)) << vector.name << vector.configuration;
    EXPECT_EQ(encoded->size(), codec->encoded(elements)->bytes()) << vector.name;
    const auto decoded = codec->decode(*encoded, elements, elements.bytes());
    ASSERT_TRUE(decoded) << vector.name << ": " << decoded.error().message;
    EXPECT_EQ(*decoded, from_hex(vector.decoded)) << vector.name << vector.configuration;
    EXPECT_FALSE(codec->decode(ByteView(*encoded).first(1), elements, elements.bytes()))
        << vector.name;
  }
}

}  // namespace
}  // namespace zarrfs
