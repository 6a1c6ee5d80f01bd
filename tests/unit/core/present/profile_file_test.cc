// Profiles that are files: what they say is taken, and what they cannot say is named.
#include "core/present/profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

class ProfileFileTest : public ::testing::Test {
 protected:
  Result<ViewOptions> take(const std::string& text) {
    place_.write("p.json", text);
    ViewOptions options;
    ZARRFS_CHECK(take_profile(options, path()));
    return options;
  }
  std::string complaint(const std::string& text) {
    const auto taken = take(text);
    if (taken) return "";
    EXPECT_EQ(taken.error().fault, Fault::kInvalid);
    EXPECT_THAT(taken.error().message, StartsWith(path()));
    return taken.error().message.substr(path().size());
  }
  [[nodiscard]] std::string path() const { return place_ / "p.json"; }

  TempDir place_;
};

TEST_F(ProfileFileTest, ARowAsAFileIsThatRow) {
  for (const Profile& profile : profiles()) {
    const auto options = take(profile_as_file(profile));
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->profile, profile.name);
    EXPECT_THAT(options->columns, IsEmpty());
    EXPECT_EQ(options->separator, std::nullopt);
  }
}

TEST_F(ProfileFileTest, WhatIsSaidOtherwiseIsAskedFor) {
  const auto options = take(R"({"profile": "ome", "separator": ".", "compressors": ["zlib"],
      "filters": [], "fortran": true, "big_endian": true, "fill": "verbatim"})");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->profile, "ome");
  EXPECT_EQ(options->separator, '.');
  EXPECT_THAT(options->columns,
              ::testing::UnorderedElementsAre(Pair("compressors", "zlib"), Pair("filters", "none"),
                                              Pair("fortran", "yes"), Pair("fill", "verbatim")));
  const auto profile = choose_profile(*options);
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->compressors, ElementsAre("zlib"));
  EXPECT_TRUE(profile->fortran);
}

TEST_F(ProfileFileTest, ItBeginsWithGenericWhereItSaysNothing) {
  const auto options = take("{}");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->profile, "generic");
}

TEST_F(ProfileFileTest, MembersAndValuesThatAreNoneAreNamed) {
  EXPECT_THAT(complaint(R"({"profile": "mine"})"),
              HasSubstr(R"(: "profile": "mine" is no profile)"));
  EXPECT_THAT(complaint(R"({"colour": 1})"), HasSubstr(R"(: there is no "colour" in a profile)"));
  EXPECT_THAT(complaint(R"({"separator": "-"})"), HasSubstr(R"("separator": "-" is neither)"));
  EXPECT_THAT(complaint(R"({"separator": 1})"), HasSubstr(R"("separator": 1 is neither)"));
  EXPECT_THAT(complaint(R"({"types": "i1"})"), HasSubstr(R"("types": "i1" is no list of names)"));
  EXPECT_THAT(complaint(R"({"types": [1]})"), HasSubstr(R"("types": 1 is no name)"));
  EXPECT_THAT(complaint(R"({"types": ["i3"]})"), HasSubstr(R"("i3" is not one of)"));
  EXPECT_THAT(complaint(R"({"ascii": "yes"})"), HasSubstr(R"("ascii": "yes" is neither true)"));
  EXPECT_THAT(complaint(R"({"fill": "red"})"), HasSubstr(R"("red" is not one of verbatim)"));
  EXPECT_THAT(complaint("[]"), HasSubstr(": is no object"));
  EXPECT_NE(complaint("{"), "");
}

TEST_F(ProfileFileTest, WhatCannotBeReadIsNamed) {
  ViewOptions options;
  const auto missing = take_profile(options, place_ / "none.json");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none.json: No such file or directory"));
  const auto directory = take_profile(options, place_.path() + "/");
  ASSERT_FALSE(directory);
  place_.write("p.json", std::string(std::size_t{65} << 10U, ' '));
  const auto large = take_profile(options, path());
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("a profile has at most 64 KiB"));
}

TEST(ProfileNames, AreNoFiles) {
  EXPECT_FALSE(is_profile_file("ome"));
  EXPECT_TRUE(is_profile_file("mine.json"));
  EXPECT_TRUE(is_profile_file("./mine"));
  ViewOptions options;
  ASSERT_TRUE(take_profile(options, "gdal"));
  EXPECT_EQ(options.profile, "gdal");
}

}  // namespace
}  // namespace zarrfs
