#include "core/base/path.h"

#include <gtest/gtest.h>

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
