#include "core/metadata/v2_note.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs {
namespace {

Json attributes_with_note(const std::string& text) {
  Json attributes = parse_first_json(text, "test").value();
  note_spelling(text, attributes);
  return attributes;
}

TEST(V2Note, WhatZarrV3SaysByItselfIsNotNoted) {
  const Json attributes = attributes_with_note(R"({"units": "K", "range": [0, 1], "NaN": "NaN"})");
  EXPECT_FALSE(attributes.contains(kNoteAttribute));
}

TEST(V2Note, BareNumbersAreShownAsTheyWereWritten) {
  const std::string text =
      R"({"missing_value": NaN, "range": [-Infinity, Infinity], "a/b~c": {"x": NaN}, "text": "NaN", "odd": "\u0001NaN\" "})";
  const Json attributes = attributes_with_note(text);
  EXPECT_EQ(attributes["missing_value"], "NaN");
  const std::string shown = styled_line(without_note(attributes), style_of(attributes, true));
  EXPECT_EQ(
      shown,
      R"({"missing_value":NaN,"range":[-Infinity,Infinity],"a/b~c":{"x":NaN},"text":"NaN","odd":"\u0001NaN\" "})");
}

TEST(V2Note, TextThatLooksLikeABareNumberStaysText) {
  const std::string text =
      R"({"a":NaN,"b":"\u0001NaN","c":"\"\u0001NaN","d":"\u0001\u0001NaN","e":"\\\u0001NaN"})";
  const Json attributes = attributes_with_note(text);
  EXPECT_EQ(styled_line(without_note(attributes), style_of(attributes, true)), text);
}

TEST(V2Note, BareNumbersOfAStoredDocumentAreNotedAndStoredBareAgain) {
  const std::string text =
      R"({"node_type": "group", "attributes": {"a": NaN, "b": ["NaN", -Infinity]}})";
  Json document = parse_first_json(text, "test").value();
  note_bare(text, document["attributes"], kAttributesPointer);
  EXPECT_EQ(noted(document["attributes"], "bare"), Json({"/a", "/b/1"}));
  document["attributes"]["c"] = 1;
  const std::string stored = bare_document_text(document);
  EXPECT_EQ(parse_json(stored, "test").value()["attributes"],
            Json::parse(R"({"a": "NaN", "b": ["NaN", "-Infinity"], "c": 1})"));
  EXPECT_NE(stored.find(R"("a": NaN,)"), std::string::npos) << stored;
  EXPECT_NE(stored.find(R"("NaN",)"), std::string::npos) << stored;
  EXPECT_EQ(stored.find(kNoteAttribute), std::string::npos) << stored;
}

TEST(V2Note, ANoteThatIsThereTellsOfBareNumbers) {
  const std::string text = R"({"attributes": {"a": "NaN", "b": NaN, "_zarrfs": {"bare": ["/a"]}}})";
  Json document = parse_first_json(text, "test").value();
  note_bare(text, document["attributes"], kAttributesPointer);
  EXPECT_EQ(noted(document["attributes"], "bare"), Json({"/a"}));
}

// 2000 numbers below a name of 200 KiB would be 400 MB of pointers.
TEST(V2Note, ANoteIsShortWhateverIsWritten) {
  std::string text = "{\"short\": NaN, \"" + std::string(std::size_t{200} << 10U, 'x') + "\": [NaN";
  for (int i = 0; i < 2000; ++i) text += ", NaN";
  const Json attributes = attributes_with_note(text + "]}");
  EXPECT_EQ(attributes[kNoteAttribute]["bare"], Json::parse(R"(["/short"])"));
  std::string many = "{\"list\": [NaN";
  for (int i = 0; i < 200'000; ++i) many += ", NaN";
  EXPECT_LT(dump_json(attributes_with_note(many + "]}")[kNoteAttribute]).size(), 128U << 10U);
}

TEST(V2Note, OfAStoresNoteNoMoreIsTakenThanIsWritten) {
  Json attributes = Json::parse(R"({"a": "NaN"})");
  attributes[kNoteAttribute]["bare"] = Json::array({std::string(std::size_t{1} << 20U, '/')});
  EXPECT_TRUE(style_of(attributes, true).bare.empty());
  attributes[kNoteAttribute]["bare"] = std::vector<std::string>(100'000, "/a");
  EXPECT_LT(style_of(attributes, true).bare.size(), 2000U);
}

TEST(V2Note, AStringThatTookThePlaceOfABareNumberStaysOne) {
  Json attributes = attributes_with_note(R"({"missing_value": NaN, "list": [NaN]})");
  attributes["missing_value"] = "none";
  attributes["list"] = 7;
  EXPECT_EQ(styled_line(without_note(attributes), style_of(attributes, true)),
            R"({"missing_value":"none","list":7})");
}

TEST(V2Note, TextIsShownInUtf8WhereItWasWrittenSo) {
  const Json utf8 = attributes_with_note("{\"units\": \"\xC2\xB0\x43\"}");
  EXPECT_EQ(styled_line(without_note(utf8), style_of(utf8, true)), "{\"units\":\"\xC2\xB0\x43\"}");
  const Json ascii = attributes_with_note(R"({"units": "\u00b0C"})");
  EXPECT_EQ(styled_line(without_note(ascii), style_of(ascii, true)), R"({"units":"\u00b0C"})");
}

TEST(V2Note, ANoteOfAProgramIsDropped) {
  EXPECT_EQ(attributes_with_note(R"({"_zarrfs": {"utf8": true}, "a": 1})"),
            Json::parse(R"({"a": 1})"));
}

TEST(V2Note, AStoresNoteMayHoldAnything) {
  for (const char* note : {R"(7)", R"({"bare": 7})",
                           R"({"bare": [7, "", "/", "x", "/a/b/c", "/list/9", "/list/x", "~2"]})",
                           R"({"utf8": "yes", "_FillValue": {}, "fill_value": []})"}) {
    Json attributes = Json::parse(R"({"a": 1, "list": ["NaN"]})");
    attributes[kNoteAttribute] = Json::parse(note);
    EXPECT_EQ(styled_line(without_note(attributes), style_of(attributes, true)),
              R"({"a":1,"list":["NaN"]})")
        << note;
  }
}

TEST(V2Note, NewAttributesHaveANewSpellingAndKeepWhatZarraySaid) {
  Json stored = attributes_with_note(R"({"_FillValue": -999, "names": ["a"], "b": NaN})");
  note_fill(Json::parse(R"({"fill_value": null})"), stored);
  EXPECT_EQ(noted(stored, kNotedMark), Json(-999));
  take_spelling(attributes_with_note(R"({"_FillValue": -999, "names": ["a"], "b": NaN})"),
                attributes_with_note(R"({"c": 1})"), stored);
  EXPECT_EQ(stored[kNoteAttribute], Json::parse(R"({"fill_value": null})"));
  note_fill(Json::parse(R"({"fill_value": 0})"), stored);
  EXPECT_FALSE(stored.contains(kNoteAttribute));
}

TEST(V2Note, WhatComesBackAsItWasShownIsStoredAsItWas) {
  const Json shown = attributes_with_note(R"({"_FillValue": -999, "names": ["a"]})");
  Json stored = Json::parse(R"({"_FillValue": -999, "names": ["a"]})");
  take_spelling(shown, attributes_with_note(R"({"_FillValue": -999, "names": ["a"], "b": 1})"),
                stored);
  EXPECT_FALSE(stored.contains(kNoteAttribute));
}

TEST(V2Note, OfZarrV3OnlyTheSpellingIsNoted) {
  const std::string text =
      R"({"fill_value": NaN, "attributes": {"_FillValue": NaN, "names": ["a"]}})";
  Json document = parse_first_json(text, "test").value();
  note_spelling(text, document["attributes"], "/attributes");
  EXPECT_EQ(document["attributes"][kNoteAttribute], Json::parse(R"({"bare": ["/_FillValue"]})"));
  const TextStyle style = style_of(document["attributes"], true);
  document["attributes"] = without_note(document["attributes"]);
  EXPECT_NE(styled_text(document, style, "/attributes").find("\"_FillValue\": NaN"),
            std::string::npos);
}

TEST(V2Note, ASeparatorIsNotedWhereAnotherWouldBeShown) {
  const Json zarray = Json::parse(R"({"shape": [4, 4], "dimension_separator": "/"})");
  Json attributes = Json::object();
  note_separator(zarray, '/', attributes);
  EXPECT_EQ(noted_separator(attributes), std::nullopt);
  note_separator(zarray, '.', attributes);
  EXPECT_EQ(noted_separator(attributes), '/');
  note_separator(Json::parse(R"({"shape": [4, 4]})"), '/', attributes);
  EXPECT_EQ(noted_separator(attributes), '.');
  Json of_one_axis = Json::object();
  note_separator(Json::parse(R"({"shape": [4], "dimension_separator": "/"})"), '.', of_one_axis);
  EXPECT_EQ(noted_separator(of_one_axis), std::nullopt);
  for (const char* text : {R"("x")", "[]", "7", "null", R"("//")"}) {
    const Json strange = {{kNoteAttribute, {{kNotedSeparator, Json::parse(text)}}}};
    EXPECT_EQ(noted_separator(strange), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace zarrfs
