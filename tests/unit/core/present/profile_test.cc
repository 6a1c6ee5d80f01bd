#include "core/present/profile.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

ViewOptions options_with(std::string profile, std::string column = "", std::string value = "") {
  ViewOptions options;
  options.profile = std::move(profile);
  if (!column.empty()) options.columns = {{std::move(column), std::move(value)}};
  return options;
}

TEST(Profile, EveryRowOfTheTableCanBeChosenByName) {
  EXPECT_FALSE(profiles().empty());
  for (const Profile& row : profiles()) {
    const auto chosen = choose_profile(options_with(row.name));
    ASSERT_TRUE(chosen) << row.name;
    EXPECT_EQ(chosen->name, row.name);
    EXPECT_FALSE(chosen->summary.empty()) << row.name;
  }
}

TEST(Profile, UnknownProfileNamesTheValueAndTheChoices) {
  const auto chosen = choose_profile(options_with("fiji"));
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().fault, Fault::kInvalid);
  EXPECT_EQ(chosen.error().message,
            "option profile: \"fiji\" is not one of auto, generic, xarray, ome, gdal, netcdf; a "
            "profile in a file has a / in its name, or ends in .json");
}

TEST(Profile, ColumnsReplaceWhatTheRowSays) {
  const auto compressors = choose_profile(options_with("generic", "compressors", "blosc+zlib"));
  ASSERT_TRUE(compressors);
  EXPECT_TRUE(compressors->reads_compressor("zlib"));
  EXPECT_FALSE(compressors->reads_compressor("zstd"));
  const auto all = choose_profile(options_with("netcdf", "compressors", "*"));
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->reads_compressor("lzma"));
  EXPECT_FALSE(all->reads_compressor("crc32c"));
  const auto none = choose_profile(options_with("generic", "filters", "none"));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->reads_filter("delta"));
  const auto types = choose_profile(options_with("generic", "types", "i1+u1+f4"));
  ASSERT_TRUE(types);
  EXPECT_TRUE(types->reads_type("f4"));
  EXPECT_FALSE(types->reads_type("f8"));
  const auto little = choose_profile(options_with("generic", "big_endian", "no"));
  ASSERT_TRUE(little);
  EXPECT_FALSE(little->big_endian);
  const auto fill = choose_profile(options_with("generic", "fill", "mask"));
  ASSERT_TRUE(fill);
  EXPECT_EQ(fill->fill, FillStyle::kMask);
}

TEST(Profile, WrongColumnsAndValuesAreNamed) {
  struct Row {
    const char* column;
    const char* value;
    const char* message;
  };
  for (const Row& row : {
           Row{"compressors", "zip", "option compressors: \"zip\" is not one of blosc, bz2"},
           Row{"compressors", "zlib+", "option compressors: \"\" is not one of"},
           Row{"types", "i3", "option types: \"i3\" is not one of"},
           Row{"fortran", "maybe", "option fortran: \"maybe\" is neither yes nor no"},
           Row{"fill", "zero", "option fill: \"zero\" is not one of"},
           Row{"colour", "red", "option colour is not a column of the profiles"},
       }) {
    const auto chosen = choose_profile(options_with("generic", row.column, row.value));
    ASSERT_FALSE(chosen) << row.column << "=" << row.value;
    EXPECT_EQ(chosen.error().fault, Fault::kInvalid);
    EXPECT_TRUE(chosen.error().message.starts_with(row.message)) << chosen.error().message;
  }
}

TEST(Profile, EveryColumnHasAHelpText) {
  EXPECT_FALSE(profile_columns().empty());
  for (const ProfileColumn& column : profile_columns()) EXPECT_FALSE(column.help.empty());
}

}  // namespace
}  // namespace zarrfs
