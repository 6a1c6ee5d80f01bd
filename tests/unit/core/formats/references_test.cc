// Files of references: what they lead to, and what hostile ones may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/json.h"
#include "core/formats/open_source.h"
#include "core/formats/references/documents_of_v2.h"
#include "core/formats/references/reference_file.h"
#include "core/formats/references/reference_templates.h"
#include "core/formats/virtual_places.h"
#include "core/formats/virtual_targets.h"
#include "core/metadata/metadata.h"
#include "core/metadata/v2_note.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const ReferenceTable> table_of(const std::string& text) {
  auto table = parse_references(text, "refs.json");
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  return table ? *table : std::make_shared<ReferenceTable>();
}

/// What the table has of a key, in one line.
std::string answer_of(const ReferenceTable& table, const std::string& key) {
  const auto found = table.find(key);
  if (!found) return "nothing";
  switch (found->kind) {
    case Reference::Kind::kInline: {
      const auto bytes = inline_bytes(*found);
      return bytes ? std::string(bytes->begin(), bytes->end()) : bytes.error().message;
    }
    case Reference::Kind::kWhole: return std::string(found->url);
    case Reference::Kind::kRange: return std::string(found->url) + " " + spell_range(found->range);
  }
  return "";
}

std::string refusal_of(const std::string& text, Fault fault = Fault::kDamaged) {
  const auto table = parse_references(text, "refs.json");
  if (table) return "was taken";
  EXPECT_EQ(table.error().fault, fault) << table.error().message;
  EXPECT_THAT(table.error().message, ::testing::StartsWith("refs.json: "));
  return table.error().message;
}

TEST(ReferencesTest, EachKindOfBothVersions) {
  const std::string refs =
      R"("a": "text", "b": "base64:AAEC", "c": ["s3://x/y"], "d/0.1": ["f.nc", 7, 5], ".zgroup": {"zarr_format": 2})";
  for (const std::string& text : {"{" + refs + "}", R"({"version": 1, "refs": {)" + refs + "}}"}) {
    const auto table = table_of(text);
    EXPECT_EQ(answer_of(*table, "a"), "text");
    EXPECT_EQ(answer_of(*table, "b"), std::string("\0\1\2", 3));
    EXPECT_EQ(answer_of(*table, "c"), "s3://x/y");
    EXPECT_EQ(answer_of(*table, "d/0.1"), "f.nc [7, +5)");
    EXPECT_EQ(answer_of(*table, ".zgroup"), R"({"zarr_format":2})");
    EXPECT_EQ(answer_of(*table, "e"), "nothing");
    EXPECT_EQ(table->size(), 5U);
  }
}

TEST(ReferencesTest, ChildrenOfADirectory) {
  const auto table =
      table_of(R"({"b/x": "", "b/c/d": "", "b/c/e": "", "b-": "", "a": "", "bc/d": ""})");
  using Child = ReferenceTable::Child;
  EXPECT_THAT(table->children(""), ElementsAre(Child{"a", false}, Child{"b-", false},
                                               Child{"b", true}, Child{"bc", true}));
  EXPECT_THAT(table->children("b"), ElementsAre(Child{"c", true}, Child{"x", false}));
  EXPECT_THAT(table->children("x"), ElementsAre());
  EXPECT_TRUE(table->any_below("b/c"));
  EXPECT_FALSE(table->any_below("b/c/d"));
}

TEST(ReferencesTest, TheExampleOfTheSpecification) {
  const auto table = table_of(R"({"version": 1,
    "templates": {"u": "server.domain/path", "f": "{{c}}"},
    "gen": [{"key": "gen_key{{i}}", "url": "http://{{u}}_{{i}}", "offset": "{{(i + 1) * 1000}}",
             "length": "1000", "dimensions": {"i": {"stop": 5}}}],
    "refs": {"key0": "data", "key1": ["http://target_url", 10000, 100],
             "key2": ["http://{{u}}", 10000, 100], "key3": ["http://{{f(c='text')}}", 10000, 100]}})");
  EXPECT_EQ(answer_of(*table, "key1"), "http://target_url [10000, +100)");
  EXPECT_EQ(answer_of(*table, "key2"), "http://server.domain/path [10000, +100)");
  EXPECT_EQ(answer_of(*table, "key3"), "http://text [10000, +100)");
  EXPECT_EQ(answer_of(*table, "gen_key0"), "http://server.domain/path_0 [1000, +1000)");
  EXPECT_EQ(answer_of(*table, "gen_key4"), "http://server.domain/path_4 [5000, +1000)");
  EXPECT_EQ(table->size(), 9U);
}

TEST(ReferencesTest, GenOfSeveralDimensions) {
  const auto table = table_of(R"({"version": 1, "refs": {}, "gen": [{"key": "a/{{i}}.{{n}}",
    "url": "{{n}}.nc", "dimensions": {"i": {"start": 6, "stop": 0, "step": -3}, "n": ["x", "y"]}}]})");
  EXPECT_EQ(table->size(), 4U);
  EXPECT_EQ(answer_of(*table, "a/6.x"), "x.nc");
  EXPECT_EQ(answer_of(*table, "a/3.y"), "y.nc");
}

TEST(ReferenceTemplatesTest, WhatIsWorkedOut) {
  ReferenceTemplates templates;
  templates.add("u", "s3://b");
  const TemplateNames names = {{"i", std::int64_t{7}}, {"n", std::string("t")}};
  const auto render = [&](const std::string& text) {
    auto made = templates.render(text, names);
    return made ? *made : "error: " + made.error().message;
  };
  EXPECT_EQ(render("{{u}}/{{ n }}/{{i}}{"), "s3://b/t/7{");
  EXPECT_EQ(render("{{2 + i * 3 - (1 - 2)}} {{i // 2}} {{i % 4}} {{0 - i // 2}} {{(0 - i) // 2}}"),
            "24 3 3 -3 -4");
  EXPECT_THAT(render("{{x}}"), HasSubstr("nothing gives \"x\" a value"));
  EXPECT_THAT(render("{{i / 2}}"), HasSubstr("does not know \"/ 2\""));
  EXPECT_THAT(render("{{i // 0}}"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(render("{{9223372036854775807 + i}}"), HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(render("{{n + i}}"), HasSubstr("stands beside a text"));
  EXPECT_THAT(render("{{- i}}"), HasSubstr("does not know"));
  EXPECT_THAT(render("{% for %}"), HasSubstr("does not know \"{%\""));
  EXPECT_THAT(render("{{i"), HasSubstr("\"}}\" is missing"));
  EXPECT_THAT(render("{{" + std::string(1000, '(') + "}}"), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(render(std::string(kMostRendered + 1, 'a')), HasSubstr("more than 16384 bytes"));
}

TEST(ReferenceTemplatesTest, NoTemplateLeadsToAnother) {
  ReferenceTemplates templates;
  templates.add("a", "{{b}}");
  templates.add("b", "{{a}}");
  EXPECT_THAT(templates.render("{{a}}").error().message, HasSubstr("is a template of its own"));
  EXPECT_THAT(templates.render("{{a(c=1)}}").error().message, HasSubstr("gives \"b\" a value"));
  EXPECT_EQ(*templates.render("{{a(b=1)}}"), "1");
}

TEST(ReferencesTest, HostileOnesAreRefusedByName) {
  EXPECT_THAT(refusal_of(R"({"a": "1", "b": "2", "a": "3"})"),
              HasSubstr("key \"a\" is there twice"));
  EXPECT_THAT(refusal_of(R"({"a": "1", "a/b": "2"})"), HasSubstr("lies below key \"a\""));
  EXPECT_THAT(refusal_of(R"({"a/../../b": "1"})"), HasSubstr("is no path in a store"));
  EXPECT_THAT(refusal_of(R"({"/a": "1"})"), HasSubstr("is no path in a store"));
  EXPECT_THAT(refusal_of(R"({"a": ["u", -1, 5]})"), HasSubstr("has the offset -1"));
  EXPECT_THAT(refusal_of(R"({"a": ["u", 1, 1e30]})"), HasSubstr("has the length 1e+30"));
  EXPECT_THAT(refusal_of(R"({"a": ["u", 9223372036854775807, 9]})"),
              HasSubstr("no part of any file"));
  EXPECT_THAT(refusal_of(R"({"a": ["u", 18446744073709551615, 18446744073709551615]})"),
              HasSubstr("no part of any file"));
  EXPECT_THAT(refusal_of(R"({"a": ["u", 1]})"), HasSubstr("has 2 values"));
  EXPECT_THAT(refusal_of(R"({"a": [null, 1, 2]})"), HasSubstr("has no URL but null"));
  EXPECT_THAT(refusal_of(R"({"a": [["u"], 1, 2]})"), HasSubstr("holds a list"));
  EXPECT_THAT(refusal_of(R"({"version": 1, "refs": {"a": 5}})"), HasSubstr("is 5, no text"));
  EXPECT_THAT(refusal_of(R"({"version": 2, "refs": {}})", Fault::kUnsupported),
              HasSubstr("version is 2"));
  EXPECT_THAT(refusal_of(std::string(100000, '[')), HasSubstr("it is a list"));
  std::string deep = R"({"a": {"b": )";
  for (int i = 0; i < 100000; ++i) deep += "[";
  EXPECT_THAT(refusal_of(deep), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(refusal_of(R"({"a": "1")"), HasSubstr("is not JSON"));
  EXPECT_THAT(refusal_of(""), HasSubstr("is not JSON"));
  const auto gen = [](const std::string& dimensions) {
    return R"({"version": 1, "refs": {}, "gen": [{"key": "a{{i}}", "url": "u", "dimensions": )" +
           dimensions + "}]}";
  };
  EXPECT_THAT(refusal_of(gen(R"({"i": {"stop": 1099511627776}})"), Fault::kTooBig),
              HasSubstr("tells of 1099511627776 references"));
  EXPECT_THAT(refusal_of(gen(R"({"i": {"stop": 1099511627776}, "j": {"stop": 1099511627776}})"),
                         Fault::kTooBig),
              HasSubstr("tells of 2^64 references"));
  EXPECT_THAT(refusal_of(gen(R"({"i": {"stop": 5, "step": 0}})")), HasSubstr("\"step\""));
  EXPECT_THAT(refusal_of(gen(R"({"i": {"stop": 1e300}})")), HasSubstr("\"stop\""));
  EXPECT_THAT(refusal_of(gen(R"({"j": {"stop": 5}})")), HasSubstr("gives \"i\" a value"));
  EXPECT_THAT(refusal_of(gen("5")), HasSubstr("dimensions is no object"));
  const auto of_length = [](std::size_t length) {
    return R"({"a": [")" + std::string(length, 'u') + R"(", 0, 1]})";
  };
  EXPECT_EQ(table_of(of_length(kLongestUrl))->size(), 1U);
  EXPECT_THAT(refusal_of(of_length(kLongestUrl + 1), Fault::kTooBig),
              HasSubstr("key \"a\" leads to a URL of 65537 bytes; at most 65536 are read"));
  EXPECT_THAT(answer_of(*table_of(R"({"a": "base64:?"})"), "a"), HasSubstr("is no base64"));
}

TEST(ReferencesTest, AHundredThousandTakeLittle) {
  const auto text_of = [](int count) {
    std::string text = R"({"version": 1, "refs": {)";
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      text += (i == 0 ? "" : ",");
      text += "\"air/" + number + ".0.0\": [\"s3://bucket/year/" + std::to_string(i / 100) +
              ".nc\", " + number + ", 4096]";
    }
    return text + "}}";
  };
  const auto time_of = [](const std::string& text, std::size_t& memory) {
    const auto begin = std::chrono::steady_clock::now();
    memory = table_of(text)->memory();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::size_t memory = 0;
  const std::string few = text_of(10000);
  const std::string many = text_of(100000);
  const double of_few = time_of(few, memory);
  const double of_many = time_of(many, memory);
  EXPECT_LT(memory, many.size());  // less than the text takes
  EXPECT_LT(of_many, 40 * of_few + 1);
  RecordProperty("seconds", std::to_string(of_many));
  RecordProperty("bytes", std::to_string(memory));
}

TEST(ToldV2Test, UnknownCodecsAndTypesAreNamed) {
  const auto parsed = [](const std::string& zarray) -> Result<void> {
    ZARRFS_TRY(const std::string text, told_array(zarray, "", "a"));
    ZARRFS_TRY(const NodeMetadata node, parse_node(text, "a"));
    ZARRFS_TRY(const Layout layout, Layout::make(std::get<ArrayMetadata>(node)));
    return {};
  };
  const std::string begin =
      R"({"zarr_format": 2, "shape": [4], "chunks": [4], "order": "C", "fill_value": 0, )";
  const auto good = parsed(
      begin +
      R"("dtype": "<i4", "filters": [{"id": "shuffle", "elementsize": 4}], "compressor": {"id": "zlib", "level": 4}})");
  ASSERT_TRUE(good) << good.error().message;
  for (
      const auto& [rest, named] :
      {std::pair{
           R"("dtype": "<i4", "filters": [{"id": "shuffle", "elementsize": 4}, {"id": "grib", "var": "t"}], "compressor": null})",
           "numcodecs.grib"},
       std::pair{R"("dtype": "<f2x", "filters": null, "compressor": null})", "<f2x"},
       std::pair{R"("dtype": "|O", "filters": [{"id": "json2"}], "compressor": null})", "|O"}}) {
    const auto hidden = parsed(begin + rest);
    ASSERT_FALSE(hidden) << rest;
    EXPECT_EQ(hidden.error().fault, Fault::kUnsupported) << hidden.error().message;
    EXPECT_THAT(hidden.error().message, HasSubstr(named));
  }
  EXPECT_EQ(parsed("{}").error().fault, Fault::kDamaged);
  EXPECT_EQ(told_group("{}", "[1]", "g").error().fault, Fault::kDamaged);
}

TEST(ToldV2Test, FillValuesOfNamedAxesMarkMissingCells) {
  const auto attributes_of = [](const std::string& dtype, const std::string& fill,
                                const std::string& zattrs) {
    const auto text = told_array(
        R"({"zarr_format": 2, "shape": [4], "chunks": [4], "order": "C", "filters": null, "compressor": null, "fill_value": )" +
            fill + R"(, "dtype": ")" + dtype + "\"}",
        zattrs, "a");
    EXPECT_TRUE(text) << (text ? "" : text.error().message);
    return parse_first_json(*text, "a")->at("attributes");
  };
  const std::string names = R"({"_ARRAY_DIMENSIONS": ["x"])";
  EXPECT_EQ(attributes_of("<i2", "7", names + "}").value("_FillValue", Json()), 7);
  EXPECT_EQ(attributes_of("<f4", "\"NaN\"", names + "}").value("_FillValue", Json()), "NaN");
  EXPECT_EQ(attributes_of("<i2", "7", names + R"(, "_FillValue": 3})").at("_FillValue"), 3);
  EXPECT_FALSE(attributes_of("<i2", "null", names + "}").contains("_FillValue"));
  EXPECT_FALSE(attributes_of("<i2", "7", "{}").contains("_FillValue"));
  EXPECT_FALSE(attributes_of("|S2", "\"eHg=\"", names + "}").contains("_FillValue"));
  // As VirtualiZarr writes floats: no program of v2 is to see base64.
  const Json spelled = attributes_of("<f4", "7.0", names + R"(, "_FillValue": "AAAAAAAAHEA="})");
  EXPECT_EQ(spelled.at("_FillValue"), "AAAAAAAAHEA=");
  EXPECT_FALSE(noted(spelled, kNotedMark));
}

/// A folder that goes with the test.
class VirtualTargetsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(top_ / "data/in");
    write("data/a.nc", "0123456789");
    write("data/in/b.nc", "bytes");
    write("data2/c.nc", "others");
    fs::create_symlink(top_ / "data2/c.nc", top_ / "data/out.nc");
    EXPECT_EQ(::mkfifo(at("data/pipe").c_str(), 0600), 0);
    fs::create_symlink("a.nc", top_ / "data/same.nc");
    fs::create_directory_symlink(top_ / "data", top_ / "link");
  }
  void TearDown() override { fs::remove_all(top_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name) << text;
  }
  [[nodiscard]] std::string at(const std::string& name) const { return (top_ / name).string(); }
  [[nodiscard]] std::shared_ptr<const VirtualTargets> allowing(
      const std::vector<std::string>& prefixes, const std::string& base = "") const {
    StoreOptions options;
    options.remote.anonymous = true;
    options.virtual_prefixes = prefixes;
    auto made = VirtualTargets::make(base, options);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return *made;
  }
  static std::string found(const VirtualTargets& targets, const std::string& url) {
    const auto target = targets.find(url);
    if (target) return target->store->name() + " " + target->path;
    EXPECT_THAT(target.error().fault, ::testing::AnyOf(Fault::kForbidden, Fault::kUnsupported));
    return target.error().message;
  }
  static std::string read(const VirtualTargets& targets, const std::string& url,
                          std::optional<ByteRange> range = std::nullopt) {
    const auto file = targets.open("key", {url, range, {}, {}}, {});
    if (!file) return file.error().message;
    const auto bytes = (*file)->read_range({0, (*file)->size()});
    return bytes ? std::string(bytes->begin(), bytes->end()) : bytes.error().message;
  }

  const fs::path top_ =
      fs::canonical(fs::temp_directory_path()) / ("zarrfs-targets-" + std::to_string(::getpid()));
};

constexpr const char* kNoPrefix = "is under no prefix that virtual=PREFIX allows";

TEST_F(VirtualTargetsTest, NothingIsReadWithoutAPrefix) {
  const auto targets = allowing({}, at("data"));
  for (const char* url :
       {"file:///etc/passwd", "/etc/passwd", "a.nc", "s3://bucket/key", "https://host/a",
        "http://169.254.169.254/latest/meta-data", "http://127.0.0.1/a", "http://[::1]/",
        "gs://a/b", "../../etc/passwd", "file:/etc/passwd", "HTTP://host/a"}) {
    EXPECT_THAT(found(*targets, url), HasSubstr(kNoPrefix)) << url;
  }
  EXPECT_THAT(found(*targets, "ftp://host/a"), HasSubstr("zarrfs reads no ftp://"));
  EXPECT_THAT(found(*targets, "http://user:word@host/a"), HasSubstr("~/.netrc"));
  EXPECT_THAT(found(*allowing({}), "a.nc"), HasSubstr("is no URL"));
}

TEST_F(VirtualTargetsTest, LocalPrefixesAtComponentBorders) {
  const auto targets = allowing({at("data")}, at("data/in"));
  EXPECT_EQ(read(*targets, at("data/a.nc")), "0123456789");
  EXPECT_EQ(read(*targets, "file://" + at("data/a.nc"), ByteRange{2, 3}), "234");
  EXPECT_EQ(read(*targets, "b.nc"), "bytes");
  EXPECT_EQ(read(*targets, "./../a.nc", ByteRange{9, 1}), "9");
  EXPECT_EQ(read(*targets, at("data/same.nc"), ByteRange{0, 1}), "0");
  for (const std::string& url : {at("data2/c.nc"), at("dat"), at("data"), at("link/a.nc"),
                                 std::string("../../data2/c.nc")}) {
    EXPECT_THAT(read(*targets, url), HasSubstr(kNoPrefix)) << url;
  }
  EXPECT_THAT(read(*targets, at("data/../data2/c.nc")), HasSubstr("it has \"..\" in its path"));
  EXPECT_THAT(read(*targets, "file://host/a"), HasSubstr("its host is another machine"));
  const auto leaving = targets->open("key", {at("data/out.nc"), {}, {}, {}}, {});
  ASSERT_FALSE(leaving);
  EXPECT_EQ(leaving.error().fault, Fault::kDenied);
  const auto missing = targets->open("key", {at("data/no.nc"), {}, {}, {}}, {});
  EXPECT_EQ(missing.error().fault, Fault::kDamaged);
  for (const ByteRange range : {ByteRange{8, 3}, ByteRange{11, 0}, ByteRange{0, 1U << 30U}}) {
    EXPECT_THAT(read(*targets, at("data/a.nc"), range), HasSubstr("lie past the end, 10"));
  }
}

TEST_F(VirtualTargetsTest, DirectoriesAndPipesAreNoFiles) {
  const auto targets = allowing({at("data")});
  for (const char* name : {"data/in", "data/pipe"}) {
    const std::string path = at(name);
    const VirtualTargets::Part part{path, ByteRange{0, 2}, {}, {}};
    const auto opened = targets->open("key", part, {});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().fault, Fault::kDamaged) << opened.error().message;
    EXPECT_THAT(opened.error().message, HasSubstr("is no regular file"));
    const auto status = targets->status("key", part);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("is no regular file"));
  }
}

TEST_F(VirtualTargetsTest, APrefixMayBeALinkOrAFile) {
  const auto link = allowing({at("link")});
  EXPECT_EQ(read(*link, at("link/a.nc"), ByteRange{0, 2}), "01");
  EXPECT_EQ(read(*link, at("data/a.nc"), ByteRange{0, 2}), "01");
  const auto file = allowing({at("data/out.nc")});
  EXPECT_EQ(read(*file, at("data/out.nc")), "others");
  EXPECT_EQ(read(*file, at("data2/c.nc")), "others");
  EXPECT_THAT(read(*file, at("data/a.nc")), HasSubstr(kNoPrefix));
  StoreOptions options;
  options.virtual_prefixes = {at("no")};
  EXPECT_THAT(VirtualTargets::make("", options).error().message,
              HasSubstr("there is no such file or directory"));
}

TEST_F(VirtualTargetsTest, PrefixesOfServers) {
  const auto targets = allowing({"s3://bucket/a/b", "https://Host:8443/d?key=1", "gs://all"});
  EXPECT_EQ(found(*targets, "s3://bucket/a/b/c.nc"), "s3://bucket/a b/c.nc");
  EXPECT_EQ(found(*targets, "s3a://bucket/a/b"), "s3://bucket/a b");
  EXPECT_EQ(found(*targets, "gcs://all/x"), "gs://all x");
  EXPECT_EQ(found(*targets, "https://host:8443/d/x%20y?key=1"), "https://Host:8443 d/x y");
  for (const char* url :
       {"s3://bucket/a/bc", "s3://bucket/a", "s3://bucket2/a/b/c", "http://host:8443/d/x",
        "https://host/d/x", "https://host:8443/d/x?key=2", "https://host:8443@evil/d/x#", "gs://al",
        "s3://bucket/x", "https://169.254.169.254/d/x"}) {
    const auto target = targets->find(url);
    EXPECT_FALSE(target) << url;
  }
  for (const char* url :
       {"s3://bucket/a/b/../../x", "https://host:8443/d/%2e%2e/x", "https://host:8443/d/..%2fx",
        "https://host:8443/d/%", "gs://all/a//b", "gs://all/./b"}) {
    EXPECT_THAT(found(*targets, url), HasSubstr("is not followed")) << url;
  }
  EXPECT_FALSE(targets->near());
}

TEST_F(VirtualTargetsTest, ContainersOfAzureAsEachProgramSpellsThem) {
  for (const char* prefix : {"az://account/box/in", "abfs://box@account.dfs.core.windows.net/in"}) {
    const auto targets = allowing({prefix});
    for (const char* url :
         {"az://account/box/in/a.nc", "abfs://box@account.dfs.core.windows.net/in/a.nc",
          "abfss://box@account.dfs.core.windows.net/in/a.nc", "abfs://box/in/a.nc",
          "az://box/in/a.nc"}) {
      const auto target = targets->find(url);
      ASSERT_TRUE(target) << url << ": " << target.error().message;
      EXPECT_EQ(target->path, "in/a.nc");
    }
    for (const char* url :
         {"az://account/box/a.nc", "az://other/box/in/a.nc", "abfs://box@other.x/in/a.nc",
          "abfs://boxes@account.x/in/a.nc", "az://boxes/in/a.nc", "abfs://box/inner/a.nc",
          "gs://box/in/a.nc", "az://account/box/in/../a.nc", "abfs://box@account.x/in/../a.nc"}) {
      EXPECT_FALSE(targets->find(url)) << url;
    }
  }
}

TEST_F(VirtualTargetsTest, AnotherFileThanWasNamedIsStale) {
  const auto targets = allowing({at("data")});
  const auto open = [&](std::optional<std::int64_t> time) {
    return targets->open("key", {at("data/a.nc"), {}, {}, time}, {});
  };
  const auto status = [&](const std::string& tag, std::optional<std::int64_t> time) {
    const auto asked = targets->status("key", {at("data/a.nc"), {}, tag, time});
    return asked ? "good" : asked.error().fault == Fault::kStale ? "stale" : "wrong";
  };
  EXPECT_TRUE(open(INT64_MAX));
  EXPECT_EQ(open(1).error().fault, Fault::kStale);
  EXPECT_STREQ(status("", INT64_MAX), "good");
  EXPECT_STREQ(status("", 1), "stale");
  const auto tagged = [&](const std::string& tag) {
    return targets->open("key", {at("data/a.nc"), {}, tag, {}}, {});
  };
  struct stat now {};
  ASSERT_EQ(::stat(at("data/a.nc").c_str(), &now), 0);
  const auto microseconds = now.st_mtim.tv_sec * 1'000'000 + now.st_mtim.tv_nsec / 1000;
  std::ostringstream tag;  // as object_store makes it, by which icechunk reads
  tag << '"' << std::hex << now.st_ino << '-' << microseconds << '-' << now.st_size << '"';
  EXPECT_TRUE(tagged(tag.str()));
  EXPECT_STREQ(status(tag.str(), {}), "good");
  write("data/a.nc", "9876543210x");
  EXPECT_EQ(tagged(tag.str()).error().fault, Fault::kStale);
  EXPECT_STREQ(status(tag.str(), {}), "stale");
  EXPECT_EQ(tagged("another").error().fault, Fault::kStale);
}

TEST_F(VirtualTargetsTest, PlacesAreToldOfWithoutAskingThem) {
  const auto targets = allowing({at("data")});
  const std::string data = at("data");
  EXPECT_EQ(targets->place_of("S3://bucket/a/b?secret=1"), "s3://bucket");
  EXPECT_EQ(targets->place_of("https://user:word@host:81/a"), "https://host:81");
  EXPECT_EQ(targets->place_of("https://host"), "https://host");
  EXPECT_EQ(targets->place_of("abfs://box@account.x/a"), "abfs://box@account.x");
  EXPECT_EQ(targets->place_of("file:///a/b/c.nc"), "/a/b");
  EXPECT_EQ(targets->place_of("/c.nc"), "/");
  EXPECT_EQ(targets->place_of("s3://a\nb/c"), "s3://a\\x0ab");
  write("refs.json", R"({".zgroup": "{\"zarr_format\": 2}", "a/0": ["data/a.nc", 0, 1],
    "a/1": ["data/a.nc", 1, 1], "a/2": ["data/b.nc", 0, 1], "a/3": ["s3://bucket/1"],
    "a/4": ["s3://bucket/2"], "a/5": ["s3://bucket/3"], "a/6": ["s3://bucket/4"],
    "a/7": ["ftp://host/a"], "a/8": "inline"})");
  StoreOptions options;
  options.virtual_prefixes = {data};
  const auto store = open_source(at("refs.json"), options);
  ASSERT_TRUE(store && (*store)->chunks_elsewhere() != nullptr);
  const VirtualSurvey survey = survey_places(*(*store)->chunks_elsewhere());
  EXPECT_FALSE(survey.error);
  EXPECT_EQ(survey.chunks, 8U);
  ASSERT_EQ(survey.places.size(), 3U);
  EXPECT_EQ(survey.places[0].name, fs::canonical(data).string());
  EXPECT_EQ(survey.places[0].chunks, 3U);
  EXPECT_EQ(survey.places[0].allowed_by, data);
  EXPECT_EQ(survey.places[1].name, "s3://bucket");
  EXPECT_EQ(survey.places[1].chunks, 4U);
  EXPECT_THAT(survey.places[1].refusal, HasSubstr("is under no prefix"));
  EXPECT_THAT(survey.places[2].refusal, HasSubstr("zarrfs reads no ftp://"));
}

TEST_F(VirtualTargetsTest, OfManyPlacesSomeAreToldApart) {
  std::string text = R"({".zgroup": "{\"zarr_format\": 2}")";
  for (int i = 0; i < 1500; ++i) {
    text += ", \"a/" + std::to_string(i) + R"(": ["s3://bucket)" + std::to_string(i) + "/a\"]";
  }
  write("refs.json", text + "}");
  const auto store = open_source(at("refs.json"), {});
  ASSERT_TRUE(store);
  const VirtualSurvey survey = survey_places(*(*store)->chunks_elsewhere());
  EXPECT_EQ(survey.chunks, 1500U);
  EXPECT_EQ(survey.places.size(), kMostVirtualPlaces);
  EXPECT_EQ(survey.chunks_at_others, 1500U - kMostVirtualPlaces);
}

TEST_F(VirtualTargetsTest, AFileOfReferencesIsASource) {
  const std::string text = R"({"version": 1, "refs": {".zgroup": "{\"zarr_format\": 2}",
    "a/.zarray": "{\"zarr_format\": 2, \"shape\": [4], \"chunks\": [2], \"dtype\": \"|u1\", \"order\": \"C\", \"fill_value\": null, \"filters\": null, \"compressor\": null}",
    "a/0": ["data/a.nc", 3, 2], "a/1": ["/etc/passwd", 0, 2], "note": "text"}})";
  write("refs.json", text);
  StoreOptions options;
  options.virtual_prefixes = {at("data")};
  const auto store = open_source(at("refs.json"), options);
  ASSERT_TRUE(store) << store.error().message;
  const auto node = load_node(**store, "a");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->kind, Node::Kind::kArray) << node->error.message;
  const auto chunk = (*store)->open("a/0");
  ASSERT_TRUE(chunk);
  EXPECT_EQ(*(*chunk)->read_range({0, 2}), (Bytes{'3', '4'}));
  EXPECT_EQ((*store)->open("a/1").error().fault, Fault::kForbidden);
  EXPECT_EQ((*store)->status("a/1").error().fault, Fault::kForbidden);
  EXPECT_EQ(*(*store)->open("a/2"), nullptr);
  EXPECT_EQ(*(*store)->open("a/.zarray"), nullptr);
  const auto listed = (*store)->list("a");
  ASSERT_TRUE(listed && *listed);
  std::vector<std::string> names;
  for (const Entry& entry : **listed) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("0", "1", "zarr.json"));
  EXPECT_THAT(*(*store)->why_read_only(), HasSubstr("holds references"));
}

}  // namespace
}  // namespace zarrfs
