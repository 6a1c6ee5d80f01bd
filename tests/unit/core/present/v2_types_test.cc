// Data types and fill values as Zarr v2 says them.
#include "core/present/v2_types.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/unit/core/present/present_support.h"

namespace zarrfs::present_test {
namespace {

constexpr const char* kLittleChain =
    R"([{"name": "bytes", "configuration": {"endian": "little"}}])";
constexpr const char* kBig = R"([{"name": "bytes", "configuration": {"endian": "big"}}])";

struct TypeRow {
  const char* type;
  const char* fill;
  const char* dtype;       // as JSON; null: hidden
  const char* shown_fill;  // as JSON
  bool materialised = false;
  ByteRule rule = ByteRule::kVerbatim;
  std::uint64_t fixed_size = 0;
};

void expect_shown(const TypeRow& row, const ViewOptions& options, const char* codecs) {
  SCOPED_TRACE(options.profile + ": " + row.type + " fill " + row.fill);
  const Presentation p = present(sharded(json(row.type), json(row.fill), json(codecs)), options);
  if (row.dtype == nullptr) {
    EXPECT_TRUE(p.hidden);
    EXPECT_NE(p.reason.find("array a: "), std::string::npos) << p.reason;
    return;
  }
  ASSERT_FALSE(p.hidden) << p.reason;
  EXPECT_EQ(p.document["dtype"], json(row.dtype));
  EXPECT_EQ(p.document["fill_value"], json(row.shown_fill)) << p.document["fill_value"];
  EXPECT_EQ(p.materialise != Materialise::kOff, row.materialised) << p.reason;
  EXPECT_EQ(p.fill_chunk != nullptr, row.materialised);
  EXPECT_EQ(p.rule, row.rule);
  EXPECT_EQ(p.fixed_size, row.fixed_size);
}

TEST(V2Types, TypesThatNumpyHasKeepTheirBytes) {
  for (
      const TypeRow& row : {
          TypeRow{R"("bool")", "true", R"("|b1")", "true"},
          TypeRow{R"("int8")", "-3", R"("|i1")", "-3"},
          TypeRow{R"("uint8")", "255", R"("|u1")", "255"},
          TypeRow{R"("int16")", "-300", R"("<i2")", "-300"},
          TypeRow{R"("uint32")", "7", R"("<u4")", "7"},
          TypeRow{R"("int64")", "-9223372036854775808", R"("<i8")", "-9223372036854775808"},
          TypeRow{R"("uint64")", "18446744073709551615", R"("<u8")", "18446744073709551615"},
          TypeRow{R"("float16")", "1.5", R"("<f2")", "1.5"},
          TypeRow{R"("float32")", "0", R"("<f4")", "0.0"},
          TypeRow{R"("float32")", R"("NaN")", R"("<f4")", R"("NaN")"},
          TypeRow{R"("float32")", R"("0x7fc00000")", R"("<f4")", R"("NaN")"},
          TypeRow{R"("float32")", R"("0x7fc00001")", R"("<f4")", R"("NaN")", true},
          TypeRow{R"("float64")", R"("-Infinity")", R"("<f8")", R"("-Infinity")"},
          TypeRow{R"("complex64")", R"([1.5, "NaN"])", R"("<c8")", R"([1.5, "NaN"])", true},
          TypeRow{R"("complex128")", "[0, -2.5]", R"("<c16")", "[0.0, -2.5]"},
          TypeRow{R"("r24")", "[1, 2, 3]", R"("|V3")", R"("AQID")"},
          TypeRow{R"({"name": "raw_bytes", "configuration": {"length_bytes": 3}})", R"("AQID")",
                  R"("|V3")", R"("AQID")"},
          TypeRow{R"({"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}})",
                  R"("YWIA")", R"("|S3")", R"("YWIA")"},
          TypeRow{R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}})",
                  R"("ab")", R"("<U3")", R"("ab")"},
          TypeRow{
              R"({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}})",
              R"("NaT")", R"("<M8[ns]")", "-9223372036854775808"},
          TypeRow{
              R"({"name": "numpy.timedelta64", "configuration": {"unit": "us", "scale_factor": 10}})",
              "4", R"("<m8[10us]")", "4"},
          TypeRow{
              R"({"name": "numpy.datetime64", "configuration": {"unit": "generic", "scale_factor": 1}})",
              "5", R"("<i8")", "5"},
      }) {
    expect_shown(row, with_profile("generic"), kLittleChain);
  }
}

TEST(V2Types, BigEndianTypesSayItAlsoInBase64FillValues) {
  for (
      const TypeRow& row : {
          TypeRow{R"("int16")", "-300", R"(">i2")", "-300"},
          TypeRow{R"("uint8")", "3", R"("|u1")", "3"},
          TypeRow{
              R"({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "uint16"},
                  {"name": "b", "data_type": "uint8"}]}})",
              R"({"a": 1, "b": 2})", R"([["a", ">u2"], ["b", "|u1"]])", R"("AAEC")"},
      }) {
    expect_shown(row, with_profile("generic"), kBig);
  }
}

TEST(V2Types, StructsAreListsOfFields) {
  for (
      const TypeRow& row : {
          TypeRow{
              R"({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int32"},
                  {"name": "p", "data_type": {"name": "struct", "configuration": {"fields":
                   [{"name": "x", "data_type": "float32"}]}}}]}})",
              R"({"a": 1, "p": {"x": 0}})", R"([["a", "<i4"], ["p", [["x", "<f4"]]]])",
              R"("AQAAAAAAAAA=")"},
          TypeRow{
              R"({"name": "structured", "configuration": {"fields": [["a", "uint8"], ["b", "uint16"]]}})",
              R"("AQIA")", R"([["a", "|u1"], ["b", "<u2"]])", R"("AQIA")"},
      }) {
    expect_shown(row, with_profile("generic"), kLittleChain);
  }
}

TEST(V2Types, TypesThatNumpyLacksAreWidened) {
  for (const TypeRow& row : {
           TypeRow{R"("bfloat16")", "1.5", R"("<f4")", "1.5", false, ByteRule::kDecode, 24},
           TypeRow{R"("float8_e4m3fn")", "2", R"("<f4")", "2.0", false, ByteRule::kDecode, 24},
           TypeRow{R"("int4")", "-3", R"("|i1")", "-3", false, ByteRule::kDecode, 6},
           TypeRow{R"("uint2")", "3", R"("|u1")", "3", false, ByteRule::kDecode, 6},
       }) {
    expect_shown(row, with_profile("generic"), kLittleChain);
  }
}

TEST(V2Types, VariableLengthTypesAreObjects) {
  expect_shown({R"("string")", R"("n/a")", R"("|O")", R"("n/a")"}, with_profile("generic"),
               R"([{"name": "vlen-utf8"}])");
  expect_shown({R"("variable_length_bytes")", R"("")", R"("|O")", R"("")", true},
               with_profile("generic"), R"([{"name": "vlen-bytes"}])");
}

TEST(V2Types, ProfilesHideTypesTheirReadersDoNotKnow) {
  for (const char* type : {R"("bool")", R"("complex64")", R"("r16")"}) {
    const std::string name = type;
    const char* fill = name == R"("complex64")" ? "[0, 0]" : name == R"("r16")" ? "[0, 0]" : "0";
    if (name == R"("bool")") fill = "false";
    expect_shown({type, fill, nullptr, ""}, with_profile("netcdf"), kLittleChain);
  }
  expect_shown(
      {R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}})", "0",
       nullptr, ""},
      with_profile("gdal"), kLittleChain);
}

TEST(V2Types, MaskingReadersGetNoFillValueThatDataMayHold) {
  for (const TypeRow& row : {
           TypeRow{R"("int16")", "0", R"("<i2")", "null", true},
           TypeRow{R"("bool")", "false", R"("|b1")", "null", true},
           TypeRow{R"("float32")", "0", R"("<f4")", R"("NaN")", true},
           TypeRow{R"("float32")", R"("NaN")", R"("<f4")", R"("NaN")", false},
           TypeRow{R"("complex64")", "[0, 0]", R"("<c8")", "null", true},
       }) {
    expect_shown(row, with_profile("xarray"), kLittleChain);
  }
}

TEST(V2Types, MaskingReadersGetTheFillAttribute) {
  struct MaskRow {
    const char* type;
    const char* fill;
    const char* attribute;
    const char* shown_fill;
    bool materialised;
  };
  for (const MaskRow& row : {
           MaskRow{"int16", "0", "-999", "-999", true},
           MaskRow{"int16", "-999", "-999.0", "-999", false},
           MaskRow{"float32", "0", R"("AAAAAAA4j8A=")", "-999.0", true},
           MaskRow{"float32", R"("NaN")", R"("AAAAAAAA+H8=")", R"("NaN")", false},
           MaskRow{"float64", "1.5", "1.5", "1.5", false},
       }) {
    SCOPED_TRACE(std::string(row.type) + " " + row.attribute);
    Json document = sharded(row.type, json(row.fill), json(kLittleChain));
    document["attributes"] =
        json(std::string(R"({"units": "m", "_FillValue": )") + row.attribute + "}");
    const Presentation p = present(document, with_profile("xarray"));
    EXPECT_EQ(p.document["fill_value"], json(row.shown_fill)) << p.document["fill_value"];
    EXPECT_EQ(p.materialise != Materialise::kOff, row.materialised);
    EXPECT_FALSE(p.attributes->contains("_FillValue"));
    EXPECT_EQ(p.attributes["units"], "m");
    const Presentation generic = present(document, with_profile("generic"));
    EXPECT_EQ(generic.attributes->contains("_FillValue"), row.materialised);  // else it repeats
  }
}

TEST(V2Types, GdalTakesMissingValueWhereThereIsNoFillAttribute) {
  struct MaskRow {
    const char* type;
    const char* attributes;
    const char* shown_fill;
    const char* shown_attributes;
  };
  for (const MaskRow& row : {
           MaskRow{"int16", R"({"_FillValue": -9})", "-9", "{}"},
           MaskRow{"int16", R"({"_FillValue": [-9]})", "-9", "{}"},
           MaskRow{"float32", R"({"_FillValue": "AAAAAAA4j8A="})", "-999.0", "{}"},
           MaskRow{"int16", R"({"missing_value": -9})", "-9", R"({"missing_value": -9})"},
           MaskRow{"int16", R"({"_FillValue": -9, "missing_value": 8})", "-9",
                   R"({"missing_value": 8})"},
           MaskRow{"uint64", R"({"_FillValue": 9223372036854775808})", "null", "{}"},
       }) {
    SCOPED_TRACE(row.attributes);
    Json document = sharded(row.type, 0, json(kLittleChain));
    document["attributes"] = json(row.attributes);
    const Presentation p = present(document, with_profile("gdal"));
    EXPECT_EQ(p.document["fill_value"], json(row.shown_fill));
    EXPECT_EQ(*p.attributes, json(row.shown_attributes));
  }
}

TEST(V2Types, NetcdfGetsTheFillAttributeAsANumberOfTheArraysType) {
  struct DeclaredRow {
    const char* type;
    const char* attributes;
    const char* shown_fill;
    const char* shown_attributes;
  };
  for (const DeclaredRow& row : {
           DeclaredRow{
               "float32", R"({"_FillValue": "AAAAAAA4j8A="})", "-999.0",
               R"({"_FillValue": -999.0, "_NCZARR_ATTR": {"types": {"_FillValue": "<f4"}}})"},
           DeclaredRow{
               "float64", R"({"_FillValue": "AAAAAAAA+H8="})", R"("NaN")",
               R"({"_FillValue": "NaN", "_NCZARR_ATTR": {"types": {"_FillValue": "<f8"}}})"},
           DeclaredRow{"int16", R"({"_FillValue": -9, "scale_factor": 0.5})", "-9",
                       R"({"_FillValue": -9, "scale_factor": 0.5,
                           "_NCZARR_ATTR": {"types": {"_FillValue": "<i2"}}})"},
           DeclaredRow{"int16", R"({"missing_value": -9.0})", "-9",
                       R"({"_FillValue": -9, "missing_value": -9, "_NCZARR_ATTR":
                   {"types": {"_FillValue": "<i2", "missing_value": "<i2"}}})"},
           DeclaredRow{"int16", R"({"_FillValue": "soon"})", "null", R"({"_FillValue": "soon"})"},
       }) {
    SCOPED_TRACE(row.attributes);
    Json document = sharded(row.type, 0, json(kLittleChain));
    document["attributes"] = json(row.attributes);
    document["dimension_names"] = json(R"(["y", "x"])");
    const Presentation p = present(document, with_profile("netcdf"));
    EXPECT_EQ(p.document["fill_value"], json(row.shown_fill));
    Json shown = json(row.shown_attributes);
    shown["_ARRAY_DIMENSIONS"] = json(R"(["y", "x"])");
    EXPECT_TRUE(same_json(p.attributes, shown)) << *p.attributes;
    EXPECT_NE(p.materialise, Materialise::kOff) << "missing chunks hold 0, which is no marker";
  }
}

TEST(V2Types, MissingValueMarksNothingInADefaultMountWhereItsWriterMarkedNothing) {
  struct TypeRow {
    const char* names;
    const char* attributes;
    bool marks;
  };
  for (const TypeRow& row : {
           TypeRow{R"(["y", "x"])", R"({"missing_value": -9})", true},
           TypeRow{"null", R"({"missing_value": -9})", false},
           TypeRow{R"(["y", "x"])", R"({"missing_value": -9, "_zarrfs": {"fill_value": null}})",
                   false},
       }) {
    SCOPED_TRACE(std::string(row.names) + row.attributes);
    Json document = sharded("int16", 0, json(kLittleChain));
    document["attributes"] = json(row.attributes);
    if (const Json names = json(row.names); !names.is_null()) document["dimension_names"] = names;
    constexpr bool kForAllReaders = true;
    const Presentation p = present(document, with_profile("netcdf"), {}, kForAllReaders);
    EXPECT_EQ(p.attributes->contains("_FillValue"), row.marks) << *p.attributes;
    EXPECT_EQ(p.document["fill_value"] == -9, row.marks) << *p.document;
    EXPECT_EQ((*p.attributes)["missing_value"], -9);
    EXPECT_TRUE(present(document, with_profile("netcdf")).attributes->contains("_FillValue"));
  }
}

TEST(V2Types, HalfFloatsAreShownAsFloatsToReadersThatKnowOnlyThose) {
  // To netCDF-C the fill value is what is missing, and 1.5 is not.
  for (const auto& [profile, fill] :
       {std::pair("ome", Json(1.5)), std::pair("netcdf", Json("NaN"))}) {
    SCOPED_TRACE(profile);
    const Presentation p =
        present(sharded("float16", 1.5, json(kLittleChain)), with_profile(profile));
    ASSERT_FALSE(p.hidden) << p.reason;
    EXPECT_EQ(p.document["dtype"], "<f4");
    EXPECT_EQ(p.document["fill_value"], fill);
    EXPECT_EQ(p.fixed_size, 24U);
    const Bytes stored = {0x00, 0x3E, 0x00, 0xBC, 0, 0, 0, 0, 0, 0, 0, 0};  // 1.5, -1
    const auto shown = p.present(stored);
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(load_little<float>(*shown), 1.5F);
    EXPECT_EQ(load_little<float>(ByteView(*shown).subspan(4)), -1.0F);
    const auto written = p.restore(*shown);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().fault, Fault::kReadOnly);
  }
  EXPECT_EQ(present(sharded("float16", 1.5, json(kLittleChain)), with_profile("generic"))
                .document["dtype"],
            "<f2");
}

TEST(V2Types, AttributesThatFitNoElementStay) {
  Json document = sharded("int16", 0, json(kLittleChain));
  document["attributes"] = json(R"({"_FillValue": "soon"})");
  const Presentation p = present(document, with_profile("xarray"));
  EXPECT_EQ(p.document["fill_value"], nullptr);
  EXPECT_EQ(p.attributes["_FillValue"], "soon");
}

TEST(V2Types, NumericReadersNeverGetNullNorFlags) {
  for (const TypeRow& row : {
           TypeRow{R"("bool")", "true", R"("|b1")", "1", true},
           TypeRow{R"("int16")", "-4", R"("<i2")", "-4", true},
           TypeRow{R"("int16")", "0", R"("<i2")", "0"},
           TypeRow{R"("uint64")", "0", R"("<u8")", "0"},
           TypeRow{R"("float32")", R"("NaN")", R"("<f4")", R"("NaN")", true},
           TypeRow{R"("uint64")", "9223372036854775808", R"("<u8")", "9223372036854775808", true},
       }) {
    expect_shown(row, with_profile("ome"), kLittleChain);
  }
}

TEST(V2Types, ScalarReadersGetNullForWhatTheyRefuse) {
  for (const TypeRow& row : {
           TypeRow{R"("complex64")", "[1, 1]", R"("<c8")", "null", true},
           TypeRow{R"("uint64")", "9223372036854775808", R"("<u8")", "null", true},
           TypeRow{R"("uint64")", "9223372036854775807", R"("<u8")", "null", true},
           TypeRow{R"("bool")", "true", R"("|b1")", "null", true},
           TypeRow{R"("int16")", "0", R"("<i2")", "null"},
           TypeRow{R"("int16")", "7", R"("<i2")", "null", true},
           TypeRow{R"("float32")", R"("NaN")", R"("<f4")", R"("NaN")"},
           TypeRow{R"({"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}})",
                   R"("bm8=")", R"("|S3")", "null", true},
           TypeRow{R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}})",
                   R"("no")", R"("<U2")", "null", true},
           TypeRow{R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}})",
                   R"("")", R"("<U2")", "null"},
       }) {
    expect_shown(row, with_profile("gdal"), kLittleChain);
  }
}

TEST(V2Types, WhatTheUserSaysOfMaterialisingHolds) {
  ViewOptions off = with_profile("xarray");
  off.materialise = Materialise::kOff;
  expect_shown({R"("int16")", "7", R"("<i2")", "7"}, off, kLittleChain);
  ViewOptions list = with_profile("generic");
  list.materialise = Materialise::kList;
  const Presentation p = present(sharded("int16", 258, json(kLittleChain)), list);
  EXPECT_EQ(p.materialise, Materialise::kList);
  ASSERT_TRUE(p.fill_chunk);
  EXPECT_EQ(*p.fill_chunk, (Bytes{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
}

}  // namespace
}  // namespace zarrfs::present_test
