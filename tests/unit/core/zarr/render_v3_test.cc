#include "core/zarr/render_v3.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/json.h"

namespace zarrfs {
namespace {

Json rendered(const std::string& text) {
  const auto node = parse_node(text, "a");
  EXPECT_TRUE(node) << node.error().message;
  const auto& array = std::get<ArrayMetadata>(*node);
  const auto layout = Layout::make(array);
  EXPECT_TRUE(layout) << layout.error().message;
  return render_unsharded(array, *layout);
}

Json json(const char* text) { return *parse_json(text, "test"); }

constexpr const char* kSharded = R"({
  "zarr_format": 3, "node_type": "array", "shape": [8, 6], "data_type": {"name": "int16"},
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 6]}},
  "chunk_key_encoding": "default",
  "fill_value": -1,
  "codecs": [
    {"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "sharding_indexed", "configuration": {
      "chunk_shape": [3, 4], "index_location": "end",
      "codecs": [{"name": "bytes", "configuration": {"endian": "little"}, "must_understand": true},
                 {"name": "example.note", "must_understand": false}, "crc32c"],
      "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"]}}],
  "attributes": {"unit": "m"}, "dimension_names": ["y", null],
  "storage_transformers": [], "x": {"must_understand": false}})";

TEST(RenderV3, ShardsBecomeTheirInnerChunks) {
  const Json document = rendered(kSharded);
  EXPECT_EQ(document["chunk_grid"],
            json(R"({"name":"regular","configuration":{"chunk_shape":[4,3]}})"));
  EXPECT_EQ(document["codecs"], json(R"([{"name":"transpose","configuration":{"order":[1,0]}},
                     {"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}])"));
}

TEST(RenderV3, TransposesThatFollowEachOtherBecomeOne) {
  const Json document = rendered(R"({
    "zarr_format": 3, "node_type": "array", "shape": [4, 6, 8], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6, 8]}},
    "chunk_key_encoding": "default", "fill_value": 0, "attributes": {},
    "codecs": [
      {"name": "transpose", "configuration": {"order": [2, 0, 1]}},
      {"name": "sharding_indexed", "configuration": {
        "chunk_shape": [4, 2, 3],
        "codecs": [{"name": "transpose", "configuration": {"order": [1, 0, 2]}}, "bytes"],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]})");
  EXPECT_EQ(document["chunk_grid"]["configuration"]["chunk_shape"], json("[2, 3, 4]"));
  EXPECT_EQ(document["codecs"],
            json(R"([{"name":"transpose","configuration":{"order":[0,2,1]}}, {"name":"bytes"}])"));
}

TEST(RenderV3, SpellingsAreThoseOfCore30) {
  const Json document = rendered(kSharded);
  EXPECT_EQ(document["data_type"], "int16");
  EXPECT_EQ(document["chunk_key_encoding"],
            json(R"({"name":"default","configuration":{"separator":"/"}})"));
  EXPECT_FALSE(document.contains("storage_transformers"));
}

TEST(RenderV3, EverythingElseIsKept) {
  const Json document = rendered(kSharded);
  EXPECT_EQ(document["shape"], json("[8, 6]"));
  EXPECT_EQ(document["fill_value"], -1);
  EXPECT_EQ(document["attributes"]["unit"], "m");
  EXPECT_EQ(document["dimension_names"], json(R"(["y", null])"));
  EXPECT_TRUE(document.contains("x"));
}

TEST(RenderV3, TheResultIsItsOwnUnshardedForm) {
  const Json once = rendered(kSharded);
  EXPECT_EQ(rendered(dump_document(once)), once);
}

TEST(RenderV3, GridsOfUnequalEdgesStayRectilinear) {
  Json document = json(kSharded);
  document["chunk_grid"] = json(R"({"name":"rectilinear","configuration":{"kind":"inline",
    "chunk_shapes":[[[2, 3], 5], 6]},"must_understand":true})");
  document["codecs"] = json(
      R"([{"name":"bytes","configuration":{"endian":"big"}}, "crc32c",
          {"name":"example.note","must_understand":false}])");
  const Json shown = rendered(dump_json(document));
  EXPECT_EQ(shown["chunk_grid"], json(R"({"name":"rectilinear","configuration":{"kind":"inline",
    "chunk_shapes":[[[2, 3], 5], [6]]}})"));
  EXPECT_EQ(shown["codecs"], json(R"([{"name":"bytes","configuration":{"endian":"big"}},
                                      {"name":"crc32c"}])"));
  EXPECT_EQ(rendered(dump_document(shown)), shown);
}

}  // namespace
}  // namespace zarrfs
