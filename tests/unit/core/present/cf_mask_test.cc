// What marks missing cells, on documents alone.
#include "core/present/cf_mask.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/json.h"
#include "tests/unit/core/present/present_support.h"

namespace zarrfs {
namespace {

using present_test::json;

Json named(const char* type, const char* fill, const char* attributes = "{}") {
  Json document = present_test::sharded(type, json(fill), json(R"([{"name": "bytes"}])"));
  document["dimension_names"] = json(R"(["y", "x"])");
  document["attributes"] = json(attributes);
  return document;
}

TEST(CfMask, AxesHaveNamesWhereEachHasOne) {
  Json document = named("int16", "0");
  EXPECT_TRUE(has_dimension_names(document));
  document["dimension_names"][1] = nullptr;
  EXPECT_FALSE(has_dimension_names(document));
  document["dimension_names"] = json(R"(["y"])");
  EXPECT_FALSE(has_dimension_names(document));
  document.erase("dimension_names");
  EXPECT_FALSE(has_dimension_names(document));
  EXPECT_TRUE(has_dimension_names(json(R"({"shape": [], "dimension_names": []})")));
  EXPECT_FALSE(has_dimension_names(json(R"({"shape": []})")));
  EXPECT_FALSE(has_dimension_names(json(R"({"shape": 3, "dimension_names": "x"})")));
}

TEST(CfMask, AMarkIsSpelledAsItWasShownWhereBothAreOneElement) {
  const DataType type = parse_data_type("float32").value();
  const Json shown = {{"_FillValue", 1.0000000200408773e+20}};
  Json same = {{"_FillValue", 1e20}};
  spell_mark_as_shown(type, shown, same);
  EXPECT_EQ(same, shown);
  const Json third = {{"_FillValue", 1.0 / 3}};
  Json printed = json(R"({"_FillValue": 0.333333, "_zarrfs": {"_FillValue": 0.333333}})");
  spell_mark_as_shown(type, third, printed);
  EXPECT_EQ(printed["_FillValue"], 1.0 / 3);
  EXPECT_EQ(printed["_zarrfs"]["_FillValue"], 1.0 / 3);
  Json other = {{"_FillValue", 5}};
  spell_mark_as_shown(type, shown, other);
  EXPECT_EQ(other["_FillValue"], 5);
  Json none = Json::object();
  spell_mark_as_shown(type, shown, none);
  EXPECT_TRUE(none.empty());
}

TEST(CfMask, AMarkIsAddedOnceAndRemovedWhereItRepeatsTheFillValue) {
  Json document = named("float32", "1.5", R"({"units": "m"})");
  EXPECT_TRUE(add_mark(document));
  EXPECT_EQ(document["attributes"], json(R"({"units": "m", "_FillValue": "AAAAAAAA+D8="})"));
  EXPECT_FALSE(add_mark(document));
  EXPECT_TRUE(remove_mark(document));
  EXPECT_EQ(document["attributes"], json(R"({"units": "m"})"));
  EXPECT_FALSE(remove_mark(document));
  for (const char* other : {R"({"_FillValue": 2.5})", R"({"_FillValue": [1.5, 2.5]})",
                            R"({"_FillValue": {}})", R"({"_FillValue": "AAAA"})"}) {
    Json kept = named("float32", "1.5", other);
    EXPECT_FALSE(remove_mark(kept)) << other;
    EXPECT_FALSE(add_mark(kept)) << other;
    EXPECT_EQ(kept["attributes"], json(other));
  }
  for (const char* type : {"complex64", "string", "no such type"}) {
    Json untouched = named("int8", "0");
    untouched["data_type"] = type;
    const Json before = untouched;
    EXPECT_FALSE(add_mark(untouched)) << type;
    EXPECT_EQ(untouched, before);
  }
}

TEST(CfMask, NumbersBecomeWhatXarrayReads) {
  struct Row {
    const char* type;
    const char* written;
    const char* spelled;
  };
  for (const Row& row :
       {Row{"float64", "1.5", R"("AAAAAAAA+D8=")"}, Row{"float32", "[1.5]", R"("AAAAAAAA+D8=")"},
        Row{"float32", R"("NaN")", R"("AAAAAAAA+H8=")"},
        Row{"float32", R"("AAAAAAAA+D8=")", R"("AAAAAAAA+D8=")"}, Row{"int16", "-999.0", "-999"},
        Row{"int16", "[-999]", "-999"}, Row{"int16", R"("none")", R"("none")"},
        Row{"int16", "99999", "99999"}}) {
    SCOPED_TRACE(std::string(row.type) + " " + row.written);
    Json document = named(row.type, "0");
    document["attributes"]["_FillValue"] = json(row.written);
    Json unnamed = document;
    unnamed.erase("dimension_names");
    respell_mark(document);
    EXPECT_EQ(document["attributes"]["_FillValue"], json(row.spelled));
    respell_mark(unnamed);
    EXPECT_EQ(unnamed["attributes"]["_FillValue"], json(row.written));
  }
}

TEST(CfMask, LevelsAreThoseThatMultiscalesList) {
  const std::vector<std::string> both = {"0", "1"};
  EXPECT_EQ(
      image_levels(json(R"({"multiscales": [{"datasets": [{"path": "0"}, {"path": "1"}]}]})")),
      both);
  EXPECT_EQ(image_levels(json(R"({"ome": {"multiscales": [{"datasets": [{"path": "0"}]},
                                                          {"datasets": [{"path": "1"}]}]}})")),
            both);
  for (const char* none :
       {"null", "[]", "{}", R"({"multiscales": {}})", R"({"multiscales": [1, {}]})",
        R"({"ome": 1})", R"({"multiscales": [{"datasets": 1}]})",
        R"({"multiscales": [{"datasets": [{"path": 1}]}]})"}) {
    EXPECT_TRUE(image_levels(json(none)).empty()) << none;
  }
}

TEST(CfMask, ImagesAreToldFromOtherPyramids) {
  for (const char* ome :
       {R"({"multiscales": [{"axes": ["y"], "datasets": []}]})", R"({"plate": {"wells": []}})",
        R"({"well": {"images": []}})", R"({"bioformats2raw.layout": 3})"}) {
    EXPECT_TRUE(is_ome04(json(ome))) << ome;
  }
  for (const char* other : {R"({"multiscales": [{"datasets": [{"path": "0"}], "type": "reduce"}]})",
                            R"({"multiscales": {"tile_matrix_set": "WebMercatorQuad"}})",
                            R"({"well": {"depth": 3}})", R"({"plate": "Pacific"})", "{}", "null"}) {
    EXPECT_FALSE(is_ome04(json(other))) << other;
  }
}

}  // namespace
}  // namespace zarrfs
