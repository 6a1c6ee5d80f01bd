#include "core/base/json.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/printable.h"

namespace zarrfs {
namespace {

using namespace std::string_literals;

Fault fault_of_text(std::string_view text, JsonLimits limits = {}) {
  const auto parsed = parse_json(text, "doc", limits);
  EXPECT_FALSE(parsed.has_value()) << text.substr(0, 80);
  return parsed ? Fault::kIo : parsed.error().fault;
}

TEST(ParseJson, KeepsMembersInTheOrderOfTheDocument) {
  const auto parsed = parse_json(R"({"z": 1, "a": [true, null, "x"], "m": -2.5})", "doc");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(dump_json(*parsed), R"({"z":1,"a":[true,null,"x"],"m":-2.5})");
}

TEST(ParseJson, BareNumbersOfPythonBecomeStrings) {
  const auto parsed =
      parse_json(R"({"a": NaN, "b": [Infinity,-Infinity], "c": "NaN, \" NaN"})", "doc");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(dump_json(*parsed), R"({"a":"NaN","b":["Infinity","-Infinity"],"c":"NaN, \" NaN"})");
  EXPECT_EQ(*parse_json("NaN", "doc"), "NaN");
}

TEST(ParseJson, BareTokensAreNoNamesAndNoPartsOfWords) {
  EXPECT_EQ(fault_of_text("{NaN: 1}"), Fault::kDamaged);
  EXPECT_EQ(fault_of_text("[1, NaN2]"), Fault::kDamaged);
  EXPECT_EQ(fault_of_text("[xNaN]"), Fault::kDamaged);
}

TEST(ParseJson, IntegersBeyond64BitsAreDoubles) {
  const auto parsed = parse_json("[18446744073709551615, 18446744073709551616]", "doc");
  ASSERT_TRUE(parsed);
  EXPECT_EQ((*parsed)[0], 18446744073709551615ULL);
  EXPECT_TRUE((*parsed)[1].is_number_float());
  EXPECT_EQ((*parsed)[1].get<double>(), 18446744073709551616.0);
}

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const std::string& text :
       {""s, "{"s, "{} x"s, "{}\0"s, "[1,]"s, "[\"\xff\"]"s, "nul"s, "[1e999]"s, "{\"a\" 1}"s}) {
    EXPECT_EQ(fault_of_text(text), Fault::kDamaged) << text;
  }
}

TEST(ParseJson, RefusesDuplicateMembersByName) {
  const auto parsed = parse_json(R"({"a": 1, "b": {"c": 1, "d": 2, "c": 3}})", "x/zarr.json");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().fault, Fault::kDamaged);
  EXPECT_EQ(parsed.error().message,
            "x/zarr.json: is not a JSON document: member \"c\" occurs twice");
}

TEST(ParseJson, RefusesWhatIsTooDeepOrTooLong) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "doc"));
  EXPECT_EQ(fault_of_text(std::string(65, '[') + std::string(65, ']')), Fault::kDamaged);
  EXPECT_EQ(fault_of_text(std::string(1'000'000, '[')), Fault::kDamaged);
  EXPECT_EQ(fault_of_text("[1, 2, 3]", {.bytes = 8, .depth = 64}), Fault::kDamaged);
}

TEST(ParseJson, RefusesMoreValuesThanMemoryShouldHold) {
  std::string text = "[";
  for (int i = 0; i < 5'000'000; ++i) text += "[],";
  text += "[]]";
  EXPECT_EQ(fault_of_text(text), Fault::kDamaged);
}

TEST(ParseJson, LongObjectsCostTimeInProportion) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  text += "\"end\":1}";
  const auto parsed = parse_json(text, "doc");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->size(), 300'001U);
}

TEST(ParseFirstJson, IgnoresWhatFollowsTheFirstValue) {
  const auto parsed = parse_first_json("{\"a\": 1}\n  \"old\": 2}\0\0"s, "doc");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(dump_json(*parsed), R"({"a":1})");
  EXPECT_FALSE(parse_first_json("{\"a\": 1", "doc"));
}

TEST(DumpJson, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(dump_document(Json{{"a", 1}}), "{\n    \"a\": 1\n}\n");
}

TEST(DumpJson, DocumentsAreAscii) {
  EXPECT_EQ(dump_document(Json{{"ä", "😀"}}), "{\n    \"\\u00e4\": \"\\ud83d\\ude00\"\n}\n");
  EXPECT_EQ(dump_ascii(Json("ä\xff")), "\"\\u00e4\\ufffd\"");
}

TEST(Printable, EscapesWhatCouldForgeALine) {
  EXPECT_EQ(printable("a/b ü"), "a/b ü");
  EXPECT_EQ(printable("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
  EXPECT_EQ(printable("a\\n"), "a\\\\n");
}

TEST(Printable, CutsAtTheLimit) {
  EXPECT_EQ(printable("abcdef", 4), "abcd...");
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcü", 4), "abc...");
}

}  // namespace
}  // namespace zarrfs
