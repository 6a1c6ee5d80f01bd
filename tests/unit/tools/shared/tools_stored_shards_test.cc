#include <gmock/gmock.h>

#include "tools/shared/console.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

using Kind = ChunkKeyEncoding::Kind;
using ::testing::ElementsAre;
using ::testing::Optional;

TEST(ParseKey, ReadsWhatTheEncodingWrites) {
  EXPECT_THAT(parse_key({Kind::kDefault, '/'}, 3, "c/1/20/0"), Optional(ElementsAre(1, 20, 0)));
  EXPECT_THAT(parse_key({Kind::kDefault, '.'}, 2, "c.1.2"), Optional(ElementsAre(1, 2)));
  EXPECT_THAT(parse_key({Kind::kV2, '.'}, 2, "1.2"), Optional(ElementsAre(1, 2)));
  EXPECT_THAT(parse_key({Kind::kV2, '/'}, 1, "7"), Optional(ElementsAre(7)));
  EXPECT_THAT(parse_key({Kind::kDefault, '/'}, 0, "c"), Optional(ElementsAre()));
  EXPECT_THAT(parse_key({Kind::kV2, '.'}, 0, "0"), Optional(ElementsAre()));
}

TEST(ParseKey, RefusesEveryOtherName) {
  for (const char* key : {"", "c", "c/", "c/1", "c/1/2/3", "c/01/2", "c/1/+2", "c/1/2 ", "1/2",
                          "c.1.2", "c/1/99999999999999999999", "d/1/2"}) {
    EXPECT_EQ(parse_key({Kind::kDefault, '/'}, 2, key), std::nullopt) << key;
  }
}

TEST(ParseCoordinates, RefusesChunksOutsideTheArray) {
  EXPECT_THAT(*parse_coordinates("1.2", {2, 3}), ElementsAre(1, 2));
  EXPECT_FALSE(parse_coordinates("1.3", {2, 3}));
  EXPECT_FALSE(parse_coordinates("1", {2, 3}));
  EXPECT_FALSE(parse_coordinates("1.-2", {2, 3}));
  EXPECT_THAT(*parse_coordinates("0", {}), ElementsAre());
}

TEST(HumanNumbers, AreShortAndExactEnough) {
  EXPECT_EQ(human_bytes(812), "812 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes((std::uint64_t{1} << 20U) - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(~std::uint64_t{0}), "16.0 EiB");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1234567), "1,234,567");
  EXPECT_EQ(human_seconds(125), "2:05");
  EXPECT_EQ(human_seconds(3607), "1:00:07");
}

}  // namespace
}  // namespace zarrfs::tools
