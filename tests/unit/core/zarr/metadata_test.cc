#include "core/metadata/metadata.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/base/json.h"
#include "core/metadata/document_text.h"
#include "core/zarr/layout.h"

namespace zarrfs {
namespace {

/// A small array; tests change one member each.
Json plain_array() {
  return *parse_json(R"({
    "zarr_format": 3, "node_type": "array", "shape": [10, 20], "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 20]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 7,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {"unit": "m"}})",
                     "test");
}

Json array_with(const std::string& member, const std::string& value) {
  Json document = plain_array();
  document[member] = *parse_json(value, "test");
  return document;
}

Result<NodeMetadata> parse(const Json& document) { return parse_node(dump_json(document), "a/b"); }

template <class T>
void expect_fault(const Result<T>& node, Fault fault, const std::string& said) {
  ASSERT_FALSE(node) << said;
  EXPECT_EQ(node.error().fault, fault) << node.error().message;
  EXPECT_NE(node.error().message.find(said), std::string::npos) << node.error().message;
  EXPECT_LT(node.error().message.size(), 600U);
}

TEST(Metadata, ArraysAreRead) {
  const auto node = parse(plain_array());
  ASSERT_TRUE(node) << node.error().message;
  const auto& array = std::get<ArrayMetadata>(*node);
  EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{10, 20}));
  EXPECT_EQ(array.type.name, "int32");
  EXPECT_EQ(array.grid.counts(), (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(array.fill, (Bytes{7, 0, 0, 0}));
  EXPECT_EQ(array.codecs.size(), 1U);
  EXPECT_EQ(array.attributes["unit"], "m");
  EXPECT_TRUE(array.dimension_names.empty());
  EXPECT_FALSE(array.big_endian);
  EXPECT_EQ(*array.document, plain_array());
}

TEST(Metadata, ShortNamesAndObjectTypesOfCore31AreRead) {
  Json document = array_with("data_type", R"({"name":"int32"})");
  document["codecs"] =
      *parse_json(R"([{"name":"bytes","configuration":{"endian":"big"}}, "crc32c"])", "test");
  document["chunk_key_encoding"] = "default";
  const auto node = parse(document);
  ASSERT_TRUE(node) << node.error().message;
  const auto& array = std::get<ArrayMetadata>(*node);
  EXPECT_EQ(array.type.name, "int32");
  EXPECT_EQ(array.codecs[1].name, "crc32c");
  EXPECT_EQ(array.key_encoding.separator, '/');
  EXPECT_TRUE(array.big_endian);
}

TEST(Metadata, TheByteOrderIsThatOfTheInnermostChain) {
  const auto node = parse(array_with("codecs", R"([{"name":"sharding_indexed","configuration":{
    "chunk_shape":[5,5],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
    "codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}}])"));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_TRUE(std::get<ArrayMetadata>(*node).big_endian);
}

TEST(Metadata, UnknownMembersMustSayThatTheyNeedNotBeUnderstood) {
  EXPECT_TRUE(parse(array_with("x", R"({"must_understand":false,"y":1})")));
  for (const char* value : {"1", "null", "{}", "[]", R"({"must_understand":true})",
                            R"({"must_understand":"false"})", R"({"must_understand":0})"}) {
    expect_fault(parse(array_with("x", value)), Fault::kUnsupported, "member \"x\"");
    const Json group{{"zarr_format", 3}, {"node_type", "group"}, {"x", *parse_json(value, "t")}};
    expect_fault(parse(group), Fault::kUnsupported, "a/b/zarr.json: the member \"x\"");
  }
}

TEST(Metadata, StorageTransformersAreUnsupportedByName) {
  EXPECT_TRUE(parse(array_with("storage_transformers", "[]")));
  expect_fault(parse(array_with("storage_transformers", R"([{"name":"chunk-manifest-json"}])")),
               Fault::kUnsupported, "chunk-manifest-json");
  expect_fault(parse(array_with("storage_transformers", "{}")), Fault::kDamaged,
               "storage_transformers");
}

TEST(Metadata, ShapesOutOfRangeAreRefused) {
  EXPECT_TRUE(parse(array_with("shape", "[9223372036854775807, 0]")));
  for (const char* shape : {"[-1, 2]", "[1.5, 2]", "[9223372036854775808, 1]", "[1e99, 1]",
                            "[\"1\", 2]", "[null, 1]", "10", "null", "{}"}) {
    expect_fault(parse(array_with("shape", shape)), Fault::kDamaged, "shape");
  }
  std::string long_shape = "[1";
  for (int i = 0; i < 32; ++i) long_shape += ",1";
  expect_fault(parse(array_with("shape", long_shape + "]")), Fault::kUnsupported, "33 dimensions");
}

TEST(Metadata, EveryRequiredMemberIsNamedWhenMissing) {
  for (const char* member : {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value",
                             "codecs", "node_type", "zarr_format"}) {
    Json document = plain_array();
    document.erase(member);
    expect_fault(parse(document), Fault::kDamaged,
                 std::string("a/b/zarr.json: ") + member + " is missing");
  }
}

TEST(Metadata, MembersOfTheWrongKindAreDamaged) {
  for (const char* member : {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs",
                             "attributes", "node_type", "dimension_names"}) {
    for (const char* value : {"3", "true", "[[[]]]", R"({"a":[]})"}) {
      const auto node = parse(array_with(member, value));
      if (std::string(member) == "attributes" && *value == '{') continue;
      ASSERT_FALSE(node) << member << " = " << value;
      EXPECT_EQ(node.error().fault, Fault::kDamaged) << node.error().message;
    }
  }
  expect_fault(parse(array_with("codecs", "[]")), Fault::kDamaged, "codecs is []");
}

TEST(Metadata, DimensionNamesMatchTheRank) {
  const auto node = parse(array_with("dimension_names", R"(["y", null])"));
  ASSERT_TRUE(node);
  const auto& names = std::get<ArrayMetadata>(*node).dimension_names;
  EXPECT_EQ(names[0], "y");
  EXPECT_FALSE(names[1]);
  EXPECT_TRUE(parse(array_with("dimension_names", "null")));
  expect_fault(parse(array_with("dimension_names", R"(["y"])")), Fault::kDamaged, "2 names");
  expect_fault(parse(array_with("dimension_names", R"(["y", 1])")), Fault::kDamaged,
               "dimension_names[1] is 1");
}

TEST(Metadata, DraftStoresAreUnsupportedByThatName) {
  expect_fault(parse_node(R"({"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"})", ""),
               Fault::kUnsupported, "drafts of 2020 to 2022");
}

TEST(Metadata, OtherFormatsAndNodesAreRefused) {
  expect_fault(parse(array_with("zarr_format", "2")), Fault::kUnsupported, "zarr_format is 2");
  expect_fault(parse(array_with("zarr_format", "null")), Fault::kDamaged, "zarr_format is null");
  expect_fault(parse(array_with("node_type", "\"table\"")), Fault::kDamaged, "table");
}

TEST(Metadata, DocumentsThatAreNoObjectsAreDamaged) {
  for (const char* text : {"", "null", "3", "\"x\"", "[]", "[{}]", "{", "{\"zarr_format\"",
                           "{\"zarr_format\":", "{\"zarr_format\":3", "{}x", "\xff\xfe"}) {
    expect_fault(parse_node(text, "a"), Fault::kDamaged, "a/zarr.json");
  }
  for (const Json& document : {Json(), Json(3), Json::array(), Json("array")}) {
    expect_fault(parse_array(document, "a"), Fault::kDamaged, "not an object");
  }
}

TEST(Metadata, DuplicateMembersAreDamaged) {
  expect_fault(parse_node(R"({"zarr_format":3,"node_type":"group","zarr_format":3})", "a"),
               Fault::kDamaged, "occurs twice");
}

TEST(Metadata, NamesInMessagesCannotForgeLines) {
  const auto node = parse_node("[]", "a\nERROR b");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().message.find('\n'), std::string::npos);
}

TEST(Metadata, TruncatedDocumentsNeverPass) {
  const std::string text = dump_json(plain_array());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_node(std::string_view(text).substr(0, size), "a")) << size;
  }
}

TEST(Metadata, GroupsKeepTheirAttributesAndDocument) {
  const auto node = parse_node(
      R"({"zarr_format":3,"node_type":"group","attributes":{"a":[1]},"x":{"must_understand":false}})",
      "");
  ASSERT_TRUE(node);
  const auto& group = std::get<GroupMetadata>(*node);
  EXPECT_EQ(group.attributes["a"][0], 1);
  EXPECT_TRUE(group.document->contains("x"));
  EXPECT_FALSE(group.consolidated);
}

TEST(Metadata, ConsolidatedContentsAreSkippedAndNoted) {
  for (const char* value : {R"({"kind":"inline","metadata":{"a":{"b":["}",{"\"":"]"}]}}})",
                            R"( [1, {"consolidated_metadata": 3}] )", "3", "\"a,b}\""}) {
    const auto node =
        parse_node(std::string(R"({"node_type":"group","consolidated_metadata":)") + value +
                       R"(,"zarr_format":3,"attributes":{"consolidated_metadata":[1]}})",
                   "");
    ASSERT_TRUE(node) << value << node.error().message;
    const auto& group = std::get<GroupMetadata>(*node);
    EXPECT_TRUE(group.consolidated) << value;
    EXPECT_FALSE(group.document->contains("consolidated_metadata"));
    EXPECT_EQ(group.attributes["consolidated_metadata"][0], 1);
  }
  const auto none =
      parse_node(R"({"zarr_format":3,"node_type":"group","consolidated_metadata" : null })", "");
  ASSERT_TRUE(none);
  EXPECT_FALSE(std::get<GroupMetadata>(*none).consolidated);
}

TEST(Metadata, ConsolidatedContentsOfAnySizeAndDepthAreSkipped) {
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  std::string wide = "[0";
  for (int i = 0; i < 5000000; ++i) wide += ",0";
  for (const std::string& value : {deep, wide + "]"}) {
    const auto node = parse_node(
        R"({"zarr_format":3,"node_type":"group","consolidated_metadata":)" + value + "}", "");
    ASSERT_TRUE(node) << node.error().message.substr(0, 200);
  }
}

TEST(Metadata, DamageAroundConsolidatedContentsIsFound) {
  const std::string head = R"({"zarr_format":3,"node_type":"group","consolidated_metadata")";
  for (const char* tail : {"", ":", ":}", ": ,", ":{", ":{]", ":{}", ":{}]", ":\"", ":\"\\",
                           ":{},\"consolidated_metadata\":{}}", " {}}", ":{}}}"}) {
    EXPECT_FALSE(parse_node(head + tail, "a")) << tail;
  }
}

TEST(DocumentText, OnlyTheOutermostMemberIsCut) {
  EXPECT_EQ(cut_member(R"({"m":{"m":1},"n":{"m":2},"o":"m"})", "m").text,
            R"({"m":null,"n":{"m":2},"o":"m"})");
  EXPECT_EQ(cut_member(R"(["m",{"m":2}])", "m").text, R"(["m",{"m":2}])");
  EXPECT_FALSE(cut_member(R"({"n":"\"m\":1"})", "m").had_value);
}

TEST(Metadata, DocumentsOfOtherProgramsAreRead) {
  const char* corpus = std::getenv("ZARRFS_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "ZARRFS_CORPUS names no folder of stores";
  std::size_t arrays = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().filename() != "zarr.json") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto node = parse_node(text, entry.path().string());
    EXPECT_TRUE(node) << node.error().message;
    if (!node || !std::holds_alternative<ArrayMetadata>(*node)) continue;
    ++arrays;
    const auto layout = Layout::make(std::get<ArrayMetadata>(*node));
    EXPECT_TRUE(layout) << entry.path() << ": " << layout.error().message;
  }
  EXPECT_GT(arrays, 0U);
}

}  // namespace
}  // namespace zarrfs
