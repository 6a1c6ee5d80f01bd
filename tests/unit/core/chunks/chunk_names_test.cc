// Names of chunks in an array's directory. Needs core/zarr for coordinates.
#include "core/chunks/chunk_names.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using Kind = ChunkKeyEncoding::Kind;

ChunkNames v2_names(char separator, std::vector<std::uint64_t> counts) {
  return {{Kind::kV2, separator}, std::move(counts)};
}

TEST(ChunkNames, FlatAndNestedNamesLeadToTheSameChunk) {
  const ChunkNames names = v2_names('.', {3, 4, 5});
  const auto flat = names.in_array("2.0.4");
  const auto first = names.in_array("2");
  ASSERT_TRUE(flat && first);
  EXPECT_TRUE(first->directory);
  const auto second = names.in_prefix(first->coordinates, "0");
  ASSERT_TRUE(second && second->directory);
  const auto chunk = names.in_prefix(second->coordinates, "4");
  ASSERT_TRUE(chunk && !chunk->directory);
  EXPECT_EQ(names.number_of(*chunk), names.number_of(*flat));
}

TEST(ChunkNames, OnlyCanonicalNamesWithinTheGridAreChunks) {
  const ChunkNames names = v2_names('.', {3, 4});
  for (const char* name : {"3.0",
                           "0.4",
                           "00.1",
                           "0.01",
                           "0.1.2",
                           "-1.0",
                           "+1.0",
                           "0.",
                           ".0",
                           "",
                           "c.0.1",
                           "0.1 ",
                           " 0.1",
                           "0 .1",
                           "0..1",
                           "0x1.1",
                           "1e0.1",
                           "0.1.tmp",
                           ".zarray",
                           "18446744073709551616.0",
                           "99999999999999999999999.1"}) {
    EXPECT_FALSE(names.in_array(name)) << name;
  }
  const ChunkNames dots({Kind::kDefault, '.'}, {3, 10});
  for (const char* name : {"", "c.", "c.0.", "c.0.10", "c.3.1", "c.00.1", "C.0.1", "cc.0.1",
                           "c..0.1", "c.0.1.2", "c.0.1.tmp", "zarr.json"}) {
    EXPECT_FALSE(dots.in_array(name)) << name;
  }
}

TEST(ChunkNames, ADirectoryOutsideTheGridHoldsNoChunks) {
  const ChunkNames names = v2_names('/', {3, 4});
  const Coordinates last = {2};
  const Coordinates outside = {3};
  EXPECT_TRUE(names.in_prefix(last, "0"));
  EXPECT_FALSE(names.in_prefix(outside, "0"));
}

TEST(ChunkNames, ALargerArrayHasMoreNames) {
  const ChunkNames names = v2_names('.', {3, 4});
  for (const char* name : {"3.0", "0.4", "99.99", "281474976710655.0"}) {
    EXPECT_TRUE(names.may_grow_to(name)) << name;
  }
  for (const char* name : {"2.3", "3", "3.0.0", "03.0", "3.0.tmp", "c.3.0", "", "3."}) {
    EXPECT_FALSE(names.may_grow_to(name)) << name;
  }
  EXPECT_TRUE(v2_names('.', {0}).may_grow_to("0"));
  EXPECT_FALSE(v2_names('.', {}).may_grow_to("1"));
  const ChunkNames dots({Kind::kDefault, '.'}, {3, 10});
  EXPECT_TRUE(dots.may_grow_to("c.3.0"));
  EXPECT_FALSE(dots.may_grow_to("3.0"));
}

TEST(ChunkNames, AnEmptyAxisHasNoChunks) {
  EXPECT_FALSE(v2_names('.', {0}).in_array("0"));
  EXPECT_FALSE(v2_names('.', {2, 0}).in_array("0.0"));
}

TEST(ChunkNames, ScalarsHaveOneNameInEachVersion) {
  const ChunkNames v2 = v2_names('.', {});
  ASSERT_TRUE(v2.in_array("0"));
  EXPECT_FALSE(v2.in_array("0")->directory);
  EXPECT_EQ(v2.flat_name({}), "0");
  const ChunkNames v3({Kind::kDefault, '/'}, {});
  ASSERT_TRUE(v3.in_array("c"));
  EXPECT_FALSE(v3.in_array("c")->directory);
  EXPECT_FALSE(v3.nested());
  EXPECT_EQ(v3.chunks(), 1U);
  for (const char* name : {"", "c", "00", "1", "0."}) EXPECT_FALSE(v2.in_array(name)) << name;
  for (const char* name : {"", "0", "c.", "c.0"}) EXPECT_FALSE(v3.in_array(name)) << name;
}

TEST(ChunkNames, OneAxisNeedsNoDirectoriesInV2AndOneInV3) {
  const ChunkNames v2 = v2_names('/', {7});
  EXPECT_FALSE(v2.nested());
  EXPECT_FALSE(v2.in_array("6")->directory);
  const ChunkNames v3({Kind::kDefault, '/'}, {7});
  EXPECT_TRUE(v3.nested());
  EXPECT_TRUE(v3.in_array("c")->directory);
  EXPECT_FALSE(v3.in_prefix({}, "6")->directory);
}

TEST(ChunkNames, EveryNumberStandsForOnePart) {
  const ChunkNames names({Kind::kDefault, '/'}, {2, 3, 2});
  EXPECT_EQ(names.nodes(), 12U + 1 + 2 + 6);
  for (std::uint64_t number = 0; number < names.nodes(); ++number) {
    const ChunkOrPrefix part = names.part_of(number);
    EXPECT_EQ(part.directory, number >= 12U);
    EXPECT_EQ(names.number_of(part), number);
  }
}

TEST(ChunkNames, NamesOfTemporaryFilesDoNotLookLikeChunks) {
  for (const char* name : {"0", "1.22", "c", "c.0.1"}) EXPECT_TRUE(looks_like_chunk(name)) << name;
  for (const char* name : {"0.1.abc.partial", "c0", "", "0.", "01", "c."}) {
    EXPECT_FALSE(looks_like_chunk(name)) << name;
  }
}

}  // namespace
}  // namespace zarrfs
