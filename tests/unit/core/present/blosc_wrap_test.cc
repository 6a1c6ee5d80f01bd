#include "core/present/blosc_wrap.h"

#include <gtest/gtest.h>

#include <string_view>

namespace zarrfs {
namespace {

Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) << 4U | digit(text[i + 1])));
  }
  return bytes;
}

struct Sample {
  Container container;
  std::uint64_t decoded;
  const char* payload;  // made by numcodecs 0.11
  const char* buffer;   // decoded by numcodecs 0.11's Blosc to the same bytes
};

const Sample kSamples[] = {
    {Container::kZstd, 16, "28b52ffd20104500001061620100c90e0b",
     "02019002100000001000000029000000140000001100000028b52ffd20104500001061620100c90e0b"},
    {Container::kLz4, 64, "400000001f00010027500000000000",
     "02013002400000004000000023000000140000000b0000001f00010027500000000000"},
};

TEST(BloscWrap, BuffersAreThoseThatBloscDecodes) {
  for (const Sample& sample : kSamples) {
    const Bytes payload = from_hex(sample.payload);
    const auto buffer = blosc_wrap(payload, sample.container, sample.decoded, 2, {});
    ASSERT_TRUE(buffer) << buffer.error().message;
    EXPECT_EQ(*buffer, from_hex(sample.buffer));
    EXPECT_EQ(static_cast<std::int64_t>(buffer->size()),
              static_cast<std::int64_t>(payload.size()) + blosc_wrap_growth(sample.container));
    const auto back = blosc_unwrap(*buffer, sample.container, sample.decoded);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, payload);
  }
}

TEST(BloscWrap, OtherBuffersAreNotTakenForOurs) {
  for (const Sample& sample : kSamples) {
    const Bytes buffer = from_hex(sample.buffer);
    EXPECT_FALSE(blosc_unwrap(buffer, Container::kZlib, sample.decoded));
    EXPECT_FALSE(blosc_unwrap(buffer, sample.container, sample.decoded + 1));
    for (std::size_t length = 0; length < buffer.size(); ++length) {
      EXPECT_FALSE(blosc_unwrap(ByteView(buffer).first(length), sample.container, sample.decoded));
    }
  }
}

TEST(BloscWrap, WrongSizesAreDamage) {
  const Bytes lz4 = from_hex(kSamples[1].payload);
  EXPECT_EQ(blosc_wrap(lz4, Container::kLz4, 65, 1, {}).error().fault, Fault::kDamaged);
  EXPECT_EQ(blosc_wrap(ByteView(lz4).first(3), Container::kLz4, 64, 1, {}).error().fault,
            Fault::kDamaged);
  EXPECT_EQ(blosc_wrap(lz4, Container::kZstd, 0, 1, {}).error().fault, Fault::kDamaged);
  EXPECT_EQ(blosc_wrap(lz4, Container::kZstd, kMaxBloscWrapped + 1, 1, {}).error().fault,
            Fault::kDamaged);
}

TEST(BloscWrap, OnlyWhatBloscCanHoldHasAContainer) {
  EXPECT_EQ(container_of("zstd"), Container::kZstd);
  EXPECT_EQ(container_of("lz4"), Container::kLz4);
  EXPECT_EQ(container_of("zlib"), Container::kZlib);
  EXPECT_EQ(container_of("gzip"), Container::kNone);
}

}  // namespace
}  // namespace zarrfs
