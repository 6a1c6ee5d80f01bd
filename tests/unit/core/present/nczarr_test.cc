#include "core/metadata/nczarr.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/metadata/v2_metadata.h"
#include "core/present/attributes.h"
#include "core/present/presentation.h"

namespace zarrfs {
namespace {

const Json& root_of_490() {
  static const Json document = Json::parse(
      R"({"zarr_format": 2, "_NCZARR_SUPERBLOCK": {"version": "2.0.0"},
          "_NCZARR_GROUP": {"dims": {"t": 6}, "vars": ["temp"], "groups": []}})");
  return document;
}

const Json& attributes_of_4101() {
  static const Json attributes = Json::parse(
      R"({"title": "x", "_nczarr_group": {"dimensions": {"t": 6}, "arrays": [], "groups": []},
          "_nczarr_superblock": {"version": "2.0.0"},
          "_nczarr_attr": {"types": {"title": ">S1", "_nczarr_group": "|J0",
                                     "_nczarr_superblock": "|J0", "_nczarr_attr": "|J0"}}})");
  return attributes;
}

GroupMetadata group_with(const Json& attributes) {
  GroupMetadata group;
  group.attributes = attributes;
  group.document = Json{{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}};
  return group;
}

TEST(Nczarr, PrintsFloatsWithSixDigits) {
  EXPECT_TRUE(is_netcdf_print(1e20, 1.0000000200408773e+20));
  EXPECT_TRUE(is_netcdf_print(0.333333, 1.0 / 3));
  EXPECT_TRUE(is_netcdf_print(123457, 123456.75));
  EXPECT_FALSE(is_netcdf_print(0.333334, 1.0 / 3));
  EXPECT_FALSE(is_netcdf_print(0.3333333, 1.0 / 3));
  EXPECT_FALSE(is_netcdf_print(12345700, 12345678)) << "integers have all digits";
  EXPECT_FALSE(is_netcdf_print("0.333333", 1.0 / 3));
}

TEST(Nczarr, MembersOfAGroupComeBackWhereTheyWere) {
  Json attributes = {{"title", "x"}};
  take_nczarr_members(root_of_490(), attributes);
  EXPECT_EQ(attributes["_NCZARR_GROUP"], root_of_490()["_NCZARR_GROUP"]);
  const GroupMetadata group = group_with(attributes);
  EXPECT_TRUE(same_json(group_document(&group, ViewFormat::kV2), root_of_490()));
  EXPECT_EQ(group_attributes(group, Profile()), Json({{"title", "x"}}));
}

TEST(Nczarr, MembersOfAnEarlierDocumentAreReplaced) {
  Json attributes = {{"_NCZARR_GROUP", {{"vars", Json::array()}}}, {"title", "x"}};
  take_nczarr_members(root_of_490(), attributes);
  EXPECT_EQ(attributes["_NCZARR_GROUP"]["vars"], Json::array({"temp"}));
  take_nczarr_members(Json{{"zarr_format", 2}}, attributes);
  EXPECT_EQ(attributes, Json({{"title", "x"}}));
}

TEST(Nczarr, WhatZattrsListsAmongItsTypesStaysThere) {
  const GroupMetadata group = group_with(attributes_of_4101());
  EXPECT_EQ(group_document(&group, ViewFormat::kV2), Json({{"zarr_format", 2}}));
  EXPECT_TRUE(same_json(group_attributes(group, Profile()), attributes_of_4101()));
}

TEST(Nczarr, MembersOfAnArrayBecomeAttributes) {
  const Json zarray = Json::parse(
      R"({"zarr_format": 2, "shape": [6], "chunks": [6], "dtype": "<i2", "compressor": null,
          "fill_value": -1, "order": "C", "filters": null,
          "_NCZARR_ARRAY": {"dimrefs": ["/t"], "storage": "chunked"}})");
  const auto document = v3_document_of_v2(zarray, Json(), "a");
  ASSERT_TRUE(document);
  EXPECT_FALSE(document->contains("_NCZARR_ARRAY"));  // zarr-python 3 refuses it there
  EXPECT_EQ((*document)["attributes"]["_NCZARR_ARRAY"], zarray["_NCZARR_ARRAY"]);
  Json shown = Json::object();
  show_nczarr_members((*document)["attributes"], shown);
  EXPECT_EQ(shown["_NCZARR_ARRAY"], zarray["_NCZARR_ARRAY"]);
}

TEST(Nczarr, ItsOwnAttributesStayObjectsWhereOthersBecomeText) {
  const Json shown = plain_attributes(
      {{"_NCZARR_ATTR", {{"types", Json::object()}}}, {"other", {{"a", 1}}}}, Profile());
  EXPECT_TRUE(shown["_NCZARR_ATTR"].is_object());
  EXPECT_TRUE(shown["other"].is_string());
}

TEST(Nczarr, AnArrayOfNetcdfIsKnownByItsMembersAndByNumbersAsText) {
  EXPECT_TRUE(is_netcdf_zarray(Json::parse(R"({"_NCZARR_ARRAY": {}})")));
  EXPECT_TRUE(is_netcdf_zarray(Json::parse(R"({"compressor": {"id": "zlib", "level": "4"}})")));
  EXPECT_TRUE(
      is_netcdf_zarray(Json::parse(R"({"filters": [{"id": "shuffle", "elementsize": "0"}]})")));
  EXPECT_FALSE(is_netcdf_zarray(Json::parse(
      R"({"compressor": {"id": "blosc", "cname": "lz4"}, "filters": [{"id": "shuffle", "elementsize": 0}]})")));
  EXPECT_FALSE(is_netcdf_zarray(Json::parse(R"({"compressor": null, "filters": null})")));
}

TEST(Nczarr, StoredCodecsAreRespelledWithinShards) {
  Json document = Json::parse(R"({"data_type": "int32", "codecs": [{"name": "sharding_indexed",
      "configuration": {"codecs": [{"name": "bytes"},
          {"name": "numcodecs.shuffle", "configuration": {"elementsize": 0}}]}}]})");
  respell_codecs(document);
  EXPECT_EQ(document["codecs"][0]["configuration"]["codecs"][1]["configuration"]["elementsize"], 4);
  for (const char* text :
       {R"({"codecs": [7, {"name": 7, "configuration": []}]})", R"({"data_type": "int32"})",
        R"({"data_type": "int32", "codecs": [7, {"configuration": 7}]})"}) {
    Json damaged = Json::parse(text);
    respell_codecs(damaged);
    EXPECT_EQ(damaged, Json::parse(text));
  }
}

TEST(Nczarr, TheRootOfADataSetIsKnown) {
  EXPECT_TRUE(is_netcdf_root({{"_NCProperties", "version=2,netcdf=4.9.0,nczarr=2.0.0"}}));
  EXPECT_TRUE(is_netcdf_root(attributes_of_4101()));
  EXPECT_FALSE(is_netcdf_root({{"title", "x"}}));
  EXPECT_FALSE(is_netcdf_root(Json()));
}

TEST(Nczarr, CodecsAreSpelledInWordsThatAllReadersTakeAlike) {
  const Json zarray = Json::parse(
      R"({"dtype": "<f4", "compressor": {"id": "zlib", "level": "4"},
          "filters": [{"id": "shuffle", "elementsize": "0"}, {"id": "fletcher32"}]})");
  const Json spelled = common_words(zarray);
  EXPECT_EQ(spelled["compressor"], Json({{"id", "zlib"}, {"level", 4}}));
  EXPECT_EQ(spelled["filters"][0], Json({{"id", "shuffle"}, {"elementsize", 4}}));
  EXPECT_EQ(spelled["filters"][1], zarray["filters"][1]);
  const Json told = Json::parse(
      R"({"dtype": "<f8", "compressor": null, "filters": [{"id": "shuffle", "elementsize": 2}]})");
  EXPECT_EQ(common_words(told), told);
}

TEST(Nczarr, OnlyCharactersOfOneByteThatAreCalledFourAreRefused) {
  EXPECT_NE(why_not_kept({{"dtype", "<U1"}}), "");
  EXPECT_EQ(why_not_kept({{"dtype", ">S1"}}), "");
  EXPECT_EQ(why_not_kept({{"dtype", "<U8"}}), "");
}

TEST(Nczarr, DefaultFillValuesAreKnownByTheirType) {
  const auto is_default = [](const char* name, const Json& value) {
    const auto type = parse_data_type(name);
    return is_netcdf_default_fill(*type, *parse_fill_value(*type, value, false));
  };
  EXPECT_TRUE(is_default("int16", -32767));
  EXPECT_TRUE(is_default("uint64", 18446744073709551614U));
  EXPECT_TRUE(is_default("float32", 9.96921e+36));
  EXPECT_TRUE(is_default("float64", 9.969209968386869e+36));
  EXPECT_FALSE(is_default("int32", -32767));
  EXPECT_FALSE(is_default("float64", 1e20));
  EXPECT_FALSE(is_default("bool", true));
}

}  // namespace
}  // namespace zarrfs
