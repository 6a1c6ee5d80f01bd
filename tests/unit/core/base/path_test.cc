#include "core/base/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/lower_case.h"

namespace zarrfs {
namespace {

TEST(Path, IsJoinedAndTakenApart) {
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "b/c"), "a/b/c");
  EXPECT_EQ(parent_path("a/b/c"), "a/b");
  EXPECT_EQ(parent_path("a"), "");
  EXPECT_EQ(last_name("a/b/c"), "c");
  EXPECT_EQ(last_name("a"), "a");
  EXPECT_EQ(last_name(""), "");
  EXPECT_EQ(path_below("a/b/c", "a"), "b/c");
  EXPECT_EQ(path_below("a/b/c", ""), "a/b/c");
  EXPECT_EQ(path_below("a", "a"), "");
}

TEST(Path, HasNamesBetweenSlashes) {
  using ::testing::ElementsAre;
  EXPECT_THAT(path_names("/a//b c/../"), ElementsAre("a", "b c", ".."));
  EXPECT_THAT(path_names("a"), ElementsAre("a"));
  EXPECT_TRUE(path_names("").empty());
  EXPECT_TRUE(path_names("//").empty());
}

TEST(LowerCase, IsOfAsciiAlone) { EXPECT_EQ(lower_case("Ab-Z_\xc3\x84[@"), "ab-z_\xc3\x84[@"); }

TEST(Path, NamesOnePlainFile) {
  for (const char* name : {"a", "...", ".a", "a b", "\xff"}) EXPECT_TRUE(is_plain_name(name));
  for (const char* name : {"", ".", "..", "a/b", "/"}) EXPECT_FALSE(is_plain_name(name)) << name;
  EXPECT_FALSE(is_plain_name(std::string("a\0b", 3)));
}

TEST(Path, LiesWithinAStore) {
  for (const char* path : {"", "a", "a/b", "a/.b/c."}) EXPECT_TRUE(is_store_path(path)) << path;
  for (const char* path : {"/", "/a", "a/", "a//b", "a/../b", ".", "a/."}) {
    EXPECT_FALSE(is_store_path(path)) << path;
  }
}

}  // namespace
}  // namespace zarrfs
