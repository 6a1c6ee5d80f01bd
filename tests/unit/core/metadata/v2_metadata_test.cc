#include "core/metadata/v2_metadata.h"

#include <gmock/gmock.h>

#include "core/base/json.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

Json zarray(const char* changes = "{}") {
  Json document = Json::parse(
      R"({"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i4", "compressor": null,
          "fill_value": 0, "order": "C", "filters": null})");
  document.update(Json::parse(changes));
  return document;
}

Json translated(const char* changes, const char* attributes = "null") {
  const auto document = v3_document_of_v2(zarray(changes), Json::parse(attributes), "a");
  EXPECT_TRUE(document) << document.error().message;
  return document ? *document : Json();
}

std::vector<std::string> codec_names_of(const Json& document) {
  std::vector<std::string> names;
  for (const Json& codec : document["codecs"]) names.push_back(codec["name"]);
  return names;
}

TEST(V2Metadata, KeepItsOwnChunkKeys) {
  EXPECT_EQ(translated("{}")["chunk_key_encoding"]["configuration"]["separator"], ".");
  const Json nested = translated(R"({"dimension_separator": "/"})");
  EXPECT_EQ(nested["chunk_key_encoding"],
            Json::parse(R"({"name": "v2", "configuration": {"separator": "/"}})"));
}

TEST(V2Metadata, TurnFortranOrderIntoATransposeBeforeAllElse) {
  const Json document = translated(
      R"({"order": "F", "filters": [{"id": "delta", "dtype": "<i4"}], "compressor": {"id": "zlib", "level": 1}})");
  EXPECT_THAT(codec_names_of(document),
              ::testing::ElementsAre("transpose", "numcodecs.delta", "bytes", "numcodecs.zlib"));
  EXPECT_EQ(document["codecs"][0]["configuration"]["order"], Json::parse("[1, 0]"));
}

TEST(V2Metadata, DropFromLzmaWhatOnlyGdalWrites) {
  const Json document = translated(R"({"compressor": {"id": "lzma", "preset": 6, "delta": 1}})");
  EXPECT_EQ(document["codecs"][1],
            Json::parse(R"({"name": "numcodecs.lzma", "configuration": {"preset": 6}})"));
}

TEST(V2Metadata, KeepTheByteOrder) {
  EXPECT_EQ(translated(R"({"dtype": ">i4"})")["codecs"][0]["configuration"]["endian"], "big");
}

TEST(V2Metadata, GiveTextItsOwnCodec) {
  const Json document =
      translated(R"({"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": 0})");
  EXPECT_EQ(document["data_type"], "string");
  EXPECT_EQ(document["fill_value"], "");
  EXPECT_THAT(codec_names_of(document), ::testing::ElementsAre("vlen-utf8"));
}

TEST(V2Metadata, HaveAFillValueWhereTheyHadNone) {
  EXPECT_EQ(translated(R"({"fill_value": null})")["fill_value"], 0);
  for (const char* type : {R"({"dtype": "<M8[s]", "fill_value": null})",
                           R"({"dtype": ">m8[10us]", "fill_value": null})"}) {
    EXPECT_EQ(translated(type)["fill_value"], "NaT") << type;
  }
}

TEST(V2Metadata, NameDimensionsAsXarrayDid) {
  const Json document = translated("{}", R"({"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"})");
  EXPECT_EQ(document["dimension_names"], Json::parse(R"(["y", "x"])"));
  EXPECT_EQ(document["attributes"], Json::parse(R"({"units": "m"})"));
}

TEST(V2Metadata, AreRefusedByNameWhereV3HasNoWord) {
  for (const char* changes :
       {R"({"filters": [{"id": "categorize"}]})", R"({"dtype": "|O"})", R"({"dtype": "<q9"})",
        R"({"filters": [{"id": "zlib"}, {"id": "delta", "dtype": "<i4"}]})"}) {
    const auto document = v3_document_of_v2(zarray(changes), Json(), "a");
    ASSERT_FALSE(document) << changes;
    EXPECT_EQ(document.error().fault, Fault::kUnsupported) << changes;
    EXPECT_THAT(document.error().message, HasSubstr("a/.zarray"));
  }
}

TEST(V2Metadata, AreDamagedWhereTheyContradictThemselves) {
  for (const char* changes : {R"({"zarr_format": 3})", R"({"chunks": [2]})", R"({"order": "Z"})",
                              R"({"compressor": "zlib"})", R"({"shape": 5})"}) {
    const auto document = v3_document_of_v2(zarray(changes), Json(), "a");
    ASSERT_FALSE(document) << changes;
    EXPECT_EQ(document.error().fault, Fault::kDamaged) << changes;
  }
}

}  // namespace
}  // namespace zarrfs
