#include "core/present/level_names.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs {
namespace {

Json multiscales(const std::vector<std::string>& paths) {
  Json datasets = Json::array();
  for (const std::string& path : paths) datasets.push_back(Json{{"path", path}, {"more", 1}});
  return Json::array({Json{{"name", "image"}, {"datasets", datasets}}});
}

TEST(LevelNames, LevelsAreCalledByTheirNumberAndBack) {
  const LevelNames levels = LevelNames::numbered(multiscales({"s0", "s1"}));
  EXPECT_EQ(levels.shown("s1"), "1");
  EXPECT_EQ(levels.shown("labels"), "labels");
  EXPECT_EQ(levels.stored("1"), "s1");
  EXPECT_EQ(levels.stored("labels"), "labels");
  EXPECT_FALSE(levels.stored("s0")) << "the stored name would be a second one";
  EXPECT_EQ(levels.show(multiscales({"s0", "s1"})), multiscales({"0", "1"}));
  EXPECT_EQ(levels.restore(multiscales({"0", "1"})), multiscales({"s0", "s1"}));
}

TEST(LevelNames, NothingIsRenamedWhereThatCannotBeDone) {
  EXPECT_TRUE(LevelNames::numbered(multiscales({"0", "1"})).empty());
  EXPECT_TRUE(LevelNames::numbered(multiscales({"1", "0"})).empty()) << "names change places";
  EXPECT_TRUE(LevelNames::numbered(multiscales({"s0", "0"})).empty()) << "taken";
  EXPECT_TRUE(LevelNames::numbered(multiscales({"a", "a"})).empty()) << "twice the same";
  EXPECT_TRUE(LevelNames::numbered(multiscales({"deep/s0"})).empty()) << "no child";
  EXPECT_TRUE(LevelNames::numbered(multiscales({".."})).empty());
  EXPECT_TRUE(LevelNames::numbered(Json::parse(R"([{"datasets": 5}])")).empty());
  EXPECT_TRUE(LevelNames::numbered(Json("no list")).empty());
}

}  // namespace
}  // namespace zarrfs
