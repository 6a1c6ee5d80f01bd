#include "core/present/attributes.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/metadata/v2_note.h"

namespace zarrfs {
namespace {

Profile profile_of(const std::string& name) {
  ViewOptions options;
  options.profile = name;
  return *choose_profile(options);
}

GroupMetadata group_with(const char* attributes) {
  GroupMetadata group;
  group.attributes = Json::parse(attributes);
  return group;
}

constexpr const char* kImage05 = R"({
  "creator": "someone",
  "ome": {
    "version": "0.5",
    "multiscales": [{"name": "cells", "axes": [{"name": "y"}, {"name": "x"}],
                     "datasets": [{"path": "0", "coordinateTransformations":
                                   [{"type": "scale", "scale": [1, 2]}]}]}],
    "omero": {"channels": []},
    "labels": ["nuclei"],
    "bioformats2raw.layout": 3
  }
})";

TEST(Attributes, OmeImageOf05IsShownAs04) {
  const Json shown = group_attributes(group_with(kImage05), profile_of("generic"));
  EXPECT_EQ(shown, Json::parse(R"({
    "creator": "someone",
    "multiscales": [{"name": "cells", "axes": [{"name": "y"}, {"name": "x"}],
                     "datasets": [{"path": "0", "coordinateTransformations":
                                   [{"type": "scale", "scale": [1, 2]}]}], "version": "0.4"}],
    "omero": {"channels": [], "version": "0.4"},
    "labels": ["nuclei"],
    "bioformats2raw.layout": 3
  })"));
}

TEST(Attributes, PlatesWellsAndLabelImagesGetTheirVersion) {
  const Json shown = group_attributes(
      group_with(R"({"ome": {"version": "0.5", "plate": {"wells": []}, "well": {"images": []},
                             "image-label": {"colors": []}}})"),
      profile_of("ome"));
  for (const char* member : {"plate", "well", "image-label"}) {
    EXPECT_EQ(shown[member]["version"], "0.4") << member;
  }
}

TEST(Attributes, WhatNetcdfCannotOpenIsShownAsText) {
  const GroupMetadata group = group_with(R"({
    "text": "ä", "number": 1.5, "yes": true, "numbers": [1, 2.5], "names": ["a", "b"], "none": null,
    "empty": [], "nested": [[1, 2]], "object": {"a": [1, "ü"]}, "_ARRAY_DIMENSIONS": ["y", "x"]})");
  const Json shown = group_attributes(group, profile_of("netcdf"));
  EXPECT_EQ(shown, Json::parse(R"({
    "text": "ä", "number": 1.5, "yes": true, "numbers": [1, 2.5], "names": "[\"a\",\"b\"]",
    "none": "null", "empty": "[]", "nested": "[[1,2]]", "object": "{\"a\":[1,\"ü\"]}",
    "_ARRAY_DIMENSIONS": ["y", "x"]})"));
  EXPECT_EQ(ungroup_attributes(shown, group, profile_of("netcdf")), *group.attributes);
  EXPECT_EQ(group_attributes(group, profile_of("generic")), *group.attributes);
  Profile ascii = profile_of("netcdf");
  ascii.ascii = true;
  EXPECT_EQ(group_attributes(group, ascii)["object"], R"({"a":[1,"\u00fc"]})");
}

TEST(Attributes, WhereOthersReadTooOnlyNumbersAreShownOtherwise) {
  const GroupMetadata group = group_with(
      R"({"names": ["a", "ü"], "none": null, "object": {"a": [1]}, "numbers": [1, 300]})");
  Profile chosen = profile_of("netcdf");
  chosen.as_noted = true;
  const Json shown = group_attributes(group, chosen);
  EXPECT_EQ(shown.dump(),
            R"({"names":["a","ü"],"none":null,"object":{"a":[1]},"numbers":[1.0,300.0]})");
  EXPECT_EQ(ungroup_attributes(shown, group, chosen), *group.attributes);
}

TEST(Attributes, WhatNetcdf490OpensOnlyAsTextIsKnown) {
  for (const char* text :
       {R"({"a": ["b"]})", R"({"a": null})", R"({"a": []})", R"({"a": [[1]]})"}) {
    EXPECT_TRUE(needs_text_for_netcdf(Json::parse(text))) << text;
  }
  EXPECT_FALSE(needs_text_for_netcdf(Json::parse(
      R"({"a": "b", "c": [1, 300], "d": {"e": [[1]]}, "_ARRAY_DIMENSIONS": ["x"],
          "_zarrfs": {}, "_nczarr_attrs": {}})")));
  EXPECT_FALSE(needs_text_for_netcdf(Json()));
}

TEST(Attributes, NumbersOfAListGetOneTypeForNetcdf) {
  // netCDF-C takes the type of the first: 2.5 would be shown as 2, and 300 would make it open
  // nothing.
  const GroupMetadata group = group_with(R"({
    "small": [1, -1, 127], "mixed": [1, 2.5], "growing": [1, 300], "large": [300, 1], "equal": [300, 300],
    "floats": [1.5, 2], "huge": [1, 18446744073709551615], "one": [70000], "number": 70000})");
  const Json shown = group_attributes(group, profile_of("netcdf"));
  EXPECT_EQ(shown.dump(),
            R"({"small":[1,-1,127],"mixed":[1.0,2.5],"growing":[1.0,300.0],"large":[300.0,1.0],)"
            R"("equal":[300,300],"floats":[1.5,2.0],"huge":"[1,18446744073709551615]",)"
            R"("one":[70000],"number":70000})");
  EXPECT_EQ(ungroup_attributes(shown, group, profile_of("netcdf")).dump(),
            group.attributes->dump());
}

TEST(Attributes, TextThatAProgramChangedIsKeptAsText) {
  const GroupMetadata group = group_with(R"({"names": ["a", "b"], "plain": "[1]"})");
  Json written = group_attributes(group, profile_of("netcdf"));
  EXPECT_EQ(written["plain"], "[1]");
  written["names"] = "[\"a\"]";
  EXPECT_EQ(ungroup_attributes(written, group, profile_of("netcdf")), written);
}

TEST(Attributes, OmeShownAsTextComesBack) {
  const GroupMetadata old = group_with(kImage05);
  const Json shown = group_attributes(old, profile_of("netcdf"));
  EXPECT_TRUE(shown["multiscales"].is_string());
  EXPECT_EQ(ungroup_attributes(shown, old, profile_of("netcdf")), *old.attributes);
}

TEST(Attributes, OmeStaysAsItIsWhereTheProfileDoesNotAskFor04) {
  Profile profile = profile_of("generic");
  profile.ome04 = false;
  EXPECT_EQ(group_attributes(group_with(kImage05), profile), Json::parse(kImage05));
}

TEST(Attributes, AttributesOfOtherGroupsAreNotTouched) {
  for (const char* text : {"{}", R"({"ome": "a word"})", R"({"ome": {"version": "0.5"}})",
                           R"({"multiscales": [{"version": "0.4"}]})"}) {
    const GroupMetadata group = group_with(text);
    EXPECT_FALSE(is_ome(group.attributes)) << text;
    EXPECT_EQ(group_attributes(group, profile_of("ome")), *group.attributes) << text;
    const Json written = Json::parse(R"({"multiscales": []})");
    EXPECT_EQ(ungroup_attributes(written, group, profile_of("ome")), written) << text;
  }
}

TEST(Attributes, UntouchedOmeAttributesComeBackAsTheyWere) {
  const GroupMetadata old = group_with(kImage05);
  const Json shown = group_attributes(old, profile_of("generic"));
  EXPECT_EQ(ungroup_attributes(shown, old, profile_of("generic")), *old.attributes);
}

TEST(Attributes, ChangedOmeAttributesAreWrappedWithoutTheirVersions) {
  const GroupMetadata old = group_with(kImage05);
  Json written = group_attributes(old, profile_of("generic"));
  written["multiscales"][0]["name"] = "renamed";
  written["series"] = Json::array({"0"});
  written["note"] = 1;
  written.erase("labels");
  const Json stored = ungroup_attributes(written, old, profile_of("generic"));
  EXPECT_EQ(stored["ome"]["version"], "0.5");
  EXPECT_EQ(stored["ome"]["multiscales"][0]["name"], "renamed");
  EXPECT_FALSE(stored["ome"]["multiscales"][0].contains("version"));
  EXPECT_EQ(stored["ome"]["series"], Json::array({"0"}));
  EXPECT_FALSE(stored["ome"].contains("labels"));
  EXPECT_EQ(stored["note"], 1);
  EXPECT_EQ(stored["creator"], "someone");
  EXPECT_FALSE(stored.contains("multiscales"));
}

TEST(Attributes, SpatialdataVersionsGoDownAndComeBack) {
  const GroupMetadata old =
      group_with(R"({"ome": {"version": "0.5-dev-spatialdata", "multiscales": [{}]},
                                           "spatialdata_attrs": {"version": "0.3"}})");
  const Json shown = group_attributes(old, profile_of("generic"));
  EXPECT_EQ(shown["multiscales"][0]["version"], "0.4-dev-spatialdata");
  EXPECT_EQ(shown["spatialdata_attrs"]["version"], "0.2");
  EXPECT_EQ(ungroup_attributes(shown, old, profile_of("generic")), *old.attributes);
}

ArrayMetadata array_with(std::vector<std::uint64_t> shape,
                         std::vector<std::optional<std::string>> names) {
  ArrayMetadata array;
  array.shape = std::move(shape);
  array.dimension_names = std::move(names);
  array.attributes = Json::parse(R"({"units": "m"})");
  return array;
}

TEST(Attributes, DimensionNamesFollowTheProfileAndNeverHoldNull) {
  struct Row {
    const char* profile;
    std::vector<std::optional<std::string>> names;
    bool conflict;
    Json expected;  // null: no attribute
  };
  const std::vector<Row> rows = {
      {"generic", {"y", "x"}, false, Json::array({"y", "x"})},
      {"generic", {"y", std::nullopt}, false, nullptr},
      {"generic", {}, false, nullptr},
      {"generic", {"y", "x"}, true, nullptr},
      {"xarray", {"y", std::nullopt}, false, Json::array({"y", "dim_1_6"})},
      {"xarray", {}, false, Json::array({"dim_0_4", "dim_1_6"})},
      {"xarray", {"dim_1_6", std::nullopt}, false, Json::array({"dim_1_6", "dim_1_6_"})},
      {"xarray", {"y", "x"}, true, Json::array({"y_4", "x_6"})},
  };
  for (const Row& row : rows) {
    ArrayCircumstances circumstances;
    circumstances.omit_dimension_names = row.conflict;
    const Json shown =
        array_attributes(array_with({4, 6}, row.names), profile_of(row.profile), circumstances);
    EXPECT_EQ(shown.value("units", ""), "m");
    EXPECT_EQ(shown.value(kDimensionsAttribute, Json()), row.expected) << row.profile;
  }
}

TEST(Attributes, WhatAViewChangesOrHidesComesBackAsItWasStored) {
  const Json stored = Json::parse(R"({"_FillValue": "AAAAAAA4j8A=", "units": "m", "tags": ["a"]})");
  const Json netcdf = Json::parse(R"({"_FillValue": -999.0, "units": "m", "tags": "[\"a\"]",
      "_NCZARR_ATTR": {"types": {"_FillValue": "<f4"}}})");
  EXPECT_EQ(restored(stored, netcdf, netcdf), stored);
  Json changed = netcdf;
  changed["units"] = "km";
  changed["_FillValue"] = -1.0;
  changed.erase("tags");
  EXPECT_EQ(restored(stored, netcdf, changed),
            Json::parse(R"({"_FillValue": -1.0, "units": "km"})"));
  const Json masked = Json::parse(R"({"units": "m", "tags": ["a"]})");
  EXPECT_EQ(restored(stored, masked, Json::parse(R"({"units": "km"})")),
            Json::parse(R"({"_FillValue": "AAAAAAA4j8A=", "units": "km"})"));
}

TEST(Attributes, ExistingDimensionsAttributeIsKept) {
  ArrayMetadata array = array_with({4}, {"x"});
  array.attributes[kDimensionsAttribute] = Json::array({"time"});
  EXPECT_EQ(array_attributes(array, profile_of("xarray"), {}), *array.attributes);
}

TEST(Attributes, GroupDocumentsLeaveConsolidatedMetadataOut) {
  GroupMetadata group;
  group.document = Json::parse(R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1},
                                   "consolidated_metadata": {"metadata": {}}, "other": {"must_understand": false}})");
  EXPECT_EQ(group_document(&group, ViewFormat::kV2), Json::parse(R"({"zarr_format": 2})"));
  EXPECT_EQ(group_document(&group, ViewFormat::kV3),
            Json::parse(R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1},
                            "other": {"must_understand": false}})"));
  EXPECT_EQ(group_document(nullptr, ViewFormat::kV3),
            Json::parse(R"({"zarr_format": 3, "node_type": "group", "attributes": {}})"));
}

TEST(Attributes, ABareNumberInAListIsANumberToNetcdf) {
  const Json bare = Json::parse(R"({"a": [1.5, "NaN"], "_zarrfs": {"bare": ["/a/1"]}})");
  EXPECT_FALSE(needs_text_for_netcdf(bare));
  EXPECT_TRUE(needs_text_for_netcdf(without_note(bare)));
  EXPECT_TRUE(needs_text_for_netcdf(Json::parse(R"({"a": []})")));
}

}  // namespace
}  // namespace zarrfs
