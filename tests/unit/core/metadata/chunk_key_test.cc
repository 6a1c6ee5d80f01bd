#include "core/metadata/chunk_key.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs {
namespace {

using Coordinates = std::vector<std::uint64_t>;
using Kind = ChunkKeyEncoding::Kind;

constexpr ChunkKeyEncoding kSlash{Kind::kDefault, '/'};
constexpr ChunkKeyEncoding kDot{Kind::kDefault, '.'};
constexpr ChunkKeyEncoding kV2{Kind::kV2, '.'};
constexpr ChunkKeyEncoding kV2Slash{Kind::kV2, '/'};

TEST(ChunkKey, KeysSpellCoordinates) {
  const struct {
    ChunkKeyEncoding encoding;
    Coordinates coordinates;
    const char* key;
  } cases[] = {
      {kSlash, {0, 1, 12}, "c/0/1/12"},
      {kDot, {0, 1, 12}, "c.0.1.12"},
      {kV2, {0, 1, 12}, "0.1.12"},
      {kV2Slash, {0, 1, 12}, "0/1/12"},
      {kSlash, {7}, "c/7"},
      {kV2, {7}, "7"},
      {kSlash, {}, "c"},
      {kDot, {}, "c"},
      {kV2, {}, "0"},
      {kV2Slash, {}, "0"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(one.encoding.key(one.coordinates), one.key);
  }
}

TEST(ChunkKey, CoordinatesStopBelowTheLimit) {
  EXPECT_EQ(parse_coordinate("0", 1), 0U);
  EXPECT_EQ(parse_coordinate("18446744073709551614", ~0ULL), ~0ULL - 1);
  EXPECT_FALSE(parse_coordinate("1", 1));
  EXPECT_FALSE(parse_coordinate("", 1));
  EXPECT_FALSE(parse_coordinate(std::string_view("1\0", 2), 9));
}

TEST(ChunkKey, EncodingsHaveTheirOwnDefaultSeparator) {
  const auto v2 = parse_chunk_key_encoding(Json{{"name", "v2"}});
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->key(Coordinates{1, 2}), "1.2");
  const auto plain = parse_chunk_key_encoding("default");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->key(Coordinates{1, 2}), "c/1/2");
}

TEST(ChunkKey, EncodingsSurviveRendering) {
  for (const ChunkKeyEncoding& encoding : {kSlash, kDot, kV2, kV2Slash}) {
    const auto again = parse_chunk_key_encoding(render_chunk_key_encoding(encoding));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->kind, encoding.kind);
    EXPECT_EQ(again->separator, encoding.separator);
  }
}

TEST(ChunkKey, OtherEncodingsAreUnsupportedAndOtherSeparatorsDamaged) {
  const auto fanout = parse_chunk_key_encoding(Json{{"name", "fanout"}});
  ASSERT_FALSE(fanout);
  EXPECT_EQ(fanout.error().fault, Fault::kUnsupported);
  EXPECT_NE(fanout.error().message.find("fanout"), std::string::npos);
  for (const Json& separator : {Json("-"), Json(""), Json("//"), Json(1), Json(nullptr)}) {
    const auto encoding = parse_chunk_key_encoding(
        Json{{"name", "default"}, {"configuration", {{"separator", separator}}}});
    ASSERT_FALSE(encoding) << dump_json(separator);
    EXPECT_EQ(encoding.error().fault, Fault::kDamaged);
  }
}

}  // namespace
}  // namespace zarrfs
