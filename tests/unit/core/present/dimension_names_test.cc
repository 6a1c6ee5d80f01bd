#include "core/present/dimension_names.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs {
namespace {

using Names = std::vector<std::string>;

ArrayMetadata array(std::vector<std::uint64_t> shape,
                    std::vector<std::optional<std::string>> names) {
  ArrayMetadata made;
  made.shape = std::move(shape);
  made.dimension_names = std::move(names);
  return made;
}

TEST(DimensionNames, AnArraysOwnComeFromItsAttributeItsDocumentOrItsShape) {
  ArrayMetadata one = array({4, 6}, {"y", std::nullopt});
  EXPECT_EQ(names_of_dimensions(one), (Names{"y", "dim_1_6"}));
  one.attributes = Json::parse(R"({"_ARRAY_DIMENSIONS": ["lat", "lon"]})");
  EXPECT_EQ(names_of_dimensions(one), (Names{"lat", "lon"}));
  one.attributes = Json::parse(R"({"_ARRAY_DIMENSIONS": ["lat"]})");
  EXPECT_EQ(names_of_dimensions(one), (Names{"y", "dim_1_6"})) << "the attribute names one of two";
  EXPECT_EQ(names_of_dimensions(array({4, 4}, {"dim_1_4", std::nullopt})),
            (Names{"dim_1_4", "dim_1_4_"}));
}

TEST(DimensionNames, WhatComesFirstKeepsItsNameAndEachNameHasOneLength) {
  DimensionNames names;
  names.add(array({4}, {"x"}));
  names.add(array({6, 4}, {"x", "x_6"}));
  EXPECT_EQ(names.shown("x", 4), "x");
  EXPECT_EQ(names.shown("x", 6), "x_6");
  EXPECT_EQ(names.shown("x_6", 4), "x_6_4") << "x_6 is 6 long";
}

TEST(DimensionNames, WhatWasNotSeenHasItsLengthInItsName) {
  EXPECT_EQ(DimensionNames().shown("x", 4), "x_4");
}

}  // namespace
}  // namespace zarrfs
