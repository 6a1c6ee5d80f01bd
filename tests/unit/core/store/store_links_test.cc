// Which symbolic links stay within a store by their text.
#include "core/store/store_links.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "core/store/store.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

TEST(LeadsWithin, OnlyWhereTheTextSaysSo) {
  for (const char* target : {"b", "b/c", "./b", "../b", "../../b", "../..", ".", "b/", "..//b"}) {
    EXPECT_TRUE(leads_within("x/y/link", target)) << target;
  }
  for (const char* target :
       {"", "/", "/b", "../../../b", "../../..", "b/..", "b/../c", "../b/../c", "./../../../b"}) {
    EXPECT_FALSE(leads_within("x/y/link", target)) << target;
  }
  EXPECT_TRUE(leads_within("link", "b"));
  EXPECT_FALSE(leads_within("link", "../b"));
}

class LocalLinks : public ::testing::Test {
 protected:
  TempDir place_;
  std::unique_ptr<Store> open(LinkPolicy policy) {
    return std::move(*open_store(place_.path(), policy));
  }
};

TEST_F(LocalLinks, AreToldOfWhereTheyStayWithin) {
  const auto store = open(LinkPolicy::kInside);
  ASSERT_TRUE(links_of(*store)->make_link("one", "nowhere"));
  const auto link = link_at(*store, "one");
  ASSERT_TRUE(link && *link);
  EXPECT_EQ((*link)->target, "nowhere");
  EXPECT_TRUE(S_ISLNK((*link)->status.st_mode));
  std::ofstream(place_.path() + "/file") << "x";
  ASSERT_EQ(::symlink("/etc", (place_.path() + "/out").c_str()), 0);
  for (const char* other : {"file", "out", "absent", ""}) {
    const auto none = link_at(*store, other);
    EXPECT_TRUE(none && !*none) << other;
  }
}

TEST_F(LocalLinks, AreNotMadeWhereTheyMayLeadOut) {
  const auto store = open(LinkPolicy::kInside);
  for (const char* target : {"/etc", "../x", "a/../../x"}) {
    const auto made = links_of(*store)->make_link("one", target);
    ASSERT_FALSE(made) << target;
    EXPECT_EQ(made.error().fault, Fault::kForbidden);
  }
  const auto following = open(LinkPolicy::kFollow);
  EXPECT_FALSE(links_of(*following)->make_link("one", "x"));
  ASSERT_TRUE(links_of(*store)->make_link("one", "x"));
  const auto followed = link_at(*following, "one");
  EXPECT_TRUE(followed && !*followed) << "there the daemon follows";
}

TEST_F(LocalLinks, AreChangedThemselves) {
  const auto store = open(LinkPolicy::kInside);
  std::ofstream(place_.path() + "/file") << "x";
  ASSERT_TRUE(links_of(*store)->make_link("one", "file"));
  const struct timespec times[2] = {{7, 0}, {8, 0}};
  constexpr auto kSame = static_cast<uid_t>(-1);
  ASSERT_TRUE(links_of(*store)->change_link("one", kSame, kSame, times));
  EXPECT_EQ((*link_at(*store, "one"))->status.st_mtim.tv_sec, 8);
  EXPECT_NE((*store->status("file"))->st_mtim.tv_sec, 8);
  EXPECT_FALSE(links_of(*store)->change_link("file", kSame, kSame, times));
}

}  // namespace
}  // namespace zarrfs
