// OME-Zarr 0.6 as 0.4: which scale and translation a level's transformations come to, what is left
// out and told, and what is stored when a program writes the document back.
#include "core/present/ome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/present/ome_transforms.h"
#include "core/present/presentation.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* transformation;
  const char* expected;  ///< The list of 0.4, or a part of the message.
};

TEST(OmeTransforms, OnlyWhatComesToAScaleAndATranslationIsShown) {
  const std::vector<Case> cases = {
      {R"({"type": "identity"})", R"([{"type": "scale", "scale": [1, 1]}])"},
      {R"({"type": "scale", "scale": [2, 0.5], "input": {"path": "0"}, "name": "n"})",
       R"([{"type": "scale", "scale": [2, 0.5]}])"},
      {R"({"type": "translation", "translation": [3, -1]})",
       R"([{"type": "scale", "scale": [1, 1]}, {"type": "translation", "translation": [3, -1]}])"},
      {R"({"type": "sequence", "transformations": [{"type": "scale", "scale": [2, 3]},
           {"type": "translation", "translation": [10, 0]}]})",
       R"([{"type": "scale", "scale": [2, 3]}, {"type": "translation", "translation": [10, 0]}])"},
      {R"({"type": "sequence", "transformations": [{"type": "translation", "translation": [0.5, 1]},
           {"type": "scale", "scale": [2, 3]}]})",
       R"([{"type": "scale", "scale": [2, 3]}, {"type": "translation", "translation": [1.0, 3]}])"},
      {R"({"type": "sequence", "transformations": [{"type": "scale", "scale": [2, 3]},
           {"type": "sequence", "transformations": [{"type": "translation", "translation": [1, 1]},
             {"type": "identity"}, {"type": "scale", "scale": [4, 1]}]}]})",
       R"([{"type": "scale", "scale": [8, 3]}, {"type": "translation", "translation": [4, 1]}])"},
      {R"({"type": "sequence", "transformations": []})", R"([{"type": "scale", "scale": [1, 1]}])"},
      {R"({"type": "affine", "affine": [[2, 0, 5], [0, 3, 0]]})",
       R"([{"type": "scale", "scale": [2, 3]}, {"type": "translation", "translation": [5, 0]}])"},
      {R"({"type": "rotation", "rotation": [[1, 0], [0, 1]]})",
       R"([{"type": "scale", "scale": [1, 1]}])"},
      {R"({"type": "mapAxis", "mapAxis": [0, 1]})", R"([{"type": "scale", "scale": [1, 1]}])"},
      {R"({"type": "bijection", "forward": {"type": "scale", "scale": [2, 2]},
           "inverse": {"type": "scale", "scale": [0.5, 0.5]}})",
       R"([{"type": "scale", "scale": [2, 2]}])"},
      {R"({"type": "byDimension", "transformations": [
           {"transformation": {"type": "scale", "scale": [2]}, "inputAxes": [1], "outputAxes": [1]},
           {"transformation": {"type": "translation", "translation": [-10]}, "inputAxes": [0],
            "outputAxes": [0]}]})",
       R"([{"type": "scale", "scale": [1, 2]}, {"type": "translation", "translation": [-10, 0]}])"},
      {R"({"type": "byDimension", "transformations": [
           {"transformation": {"type": "scale", "scale": [2, 3]}, "input_axes": [1, 0],
            "output_axes": [1, 0]}]})",
       R"([{"type": "scale", "scale": [3, 2]}])"},

      {R"({"type": "affine", "affine": [[2, 0.1, 5], [0, 3, 0]]})", "affine is more than"},
      {R"({"type": "affine", "affine": [[2, 0], [0, 3]]})", "affine has no matrix of 2 x 3"},
      {R"({"type": "affine", "path": "matrix"})", "affine has no matrix of 2 x 3"},
      {R"({"type": "rotation", "rotation": [[0, -1], [1, 0]]})", "rotation is more than"},
      {R"({"type": "sequence", "transformations": [{"type": "scale", "scale": [2, 3]},
           {"type": "rotation", "rotation": [[0, -1], [1, 0]]}]})",
       "rotation is more than"},
      {R"({"type": "mapAxis", "mapAxis": [1, 0]})", "mapAxis is more than"},
      {R"({"type": "projectAxis", "createdOutputs": [0]})", "projectAxis is more than"},
      {R"({"type": "displacements", "path": "field"})", "displacements is more than"},
      {R"({"type": "byDimension", "transformations": [
           {"transformation": {"type": "scale", "scale": [2]}, "inputAxes": [1],
            "outputAxes": [0]}]})",
       "byDimension is more than"},
      {R"({"type": "byDimension", "transformations": [
           {"transformation": {"type": "scale", "scale": [2]}, "inputAxes": [0],
            "outputAxes": [0]}]})",
       "byDimension is more than"},
      {R"({"type": "byDimension", "transformations": [
           {"transformation": {"type": "identity"}, "inputAxes": [0], "outputAxes": [0]},
           {"transformation": {"type": "identity"}, "inputAxes": [0], "outputAxes": [0]}]})",
       "byDimension is more than"},
      {R"({"type": "byDimension", "transformations": [
           {"transformation": {"type": "identity"}, "inputAxes": [7], "outputAxes": [7]}]})",
       "byDimension is more than"},
      {R"({"type": "scale", "scale": [2]})", "scale has no list of 2 numbers"},
      {R"({"type": "scale", "scale": ["2", 3]})", "scale has no list of 2 numbers"},
      {R"({"type": "translation", "path": "offsets"})", "translation has no list of 2 numbers"},
      {R"({"type": "sequence", "transformations": [{"type": "scale", "scale": [1e200, 1]},
           {"type": "scale", "scale": [1e200, 1]}]})",
       "too large"},
      {R"({"type": "sequence", "transformations": {}})", "transformations are no list"},
      {R"({"scale": [1, 1]})", "a transformation without a type"},
      {R"([1])", "a transformation is no object"},
  };
  for (const Case& one : cases) {
    const auto simple = scale_and_translation(Json::array({Json::parse(one.transformation)}), 2);
    const bool shown = one.expected[0] == '[';
    ASSERT_EQ(simple.has_value(), shown) << one.transformation;
    if (shown) {
      EXPECT_EQ(*simple, Json::parse(one.expected)) << one.transformation;
    } else {
      EXPECT_THAT(simple.error().message, HasSubstr(one.expected)) << one.transformation;
    }
  }
}

const char* const kSystems = R"([
    {"name": "tilted", "axes": [{"name": "v", "unit": "meter"}, {"name": "u", "unit": "meter"}]},
    {"name": "physical", "axes": [{"name": "y", "unit": "micrometer"},
                                  {"name": "x", "unit": "micrometer"}]}])";
const char* const kRotation =
    R"([{"type": "rotation", "rotation": [[0, -1], [1, 0]], "input": {"name": "physical"},
         "output": {"name": "tilted"}}])";
const char* const kLevels = R"([
    {"path": "s0", "coordinateTransformations": [
      {"type": "identity", "input": {"path": "s0"}, "output": {"name": "physical"}, "name": "a"}]},
    {"path": "s1", "coordinateTransformations": [
      {"type": "sequence", "input": {"path": "s1"}, "output": {"name": "physical"},
       "transformations": [{"type": "scale", "scale": [2, 2]},
                           {"type": "translation", "translation": [0.5, 0.5]}]}]}])";

Json image(const std::string& levels, const std::string& systems = kSystems,
           const char* further = nullptr) {
  Json multiscale = {{"name", "cells"},
                     {"coordinateSystems", Json::parse(systems)},
                     {"datasets", Json::parse(levels)}};
  if (further != nullptr) multiscale["coordinateTransformations"] = Json::parse(further);
  return {{"creator", "someone"},
          {"ome", {{"version", "0.6"}, {"multiscales", Json::array({multiscale})}}}};
}

Json shown_of(const Json& attributes) { return ome_as_04(attributes, {})["multiscales"]; }

Json written_back(const Json& stored, const Json& written) {
  return ome_from_04(written, ome_as_04(stored, {}), stored, {});
}

TEST(Ome, AxesAreThoseOfTheSystemThatLevelsArePlacedIn) {
  const Json stored = image(kLevels, kSystems, kRotation);
  EXPECT_EQ(shown_of(stored), Json::parse(R"([{"name": "cells",
    "datasets": [
      {"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]},
      {"path": "s1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]},
         {"type": "translation", "translation": [0.5, 0.5]}]}],
    "axes": [{"name": "y", "unit": "micrometer"}, {"name": "x", "unit": "micrometer"}],
    "version": "0.4"}])"));
  const Ome04Lacks lacks = ome04_lacks(stored);
  EXPECT_FALSE(lacks.images);
  EXPECT_EQ(lacks.text,
            "OME-Zarr 0.4 cannot say all: image \"cells\" is shown without the rotation from "
            "\"physical\" to \"tilted\"");
  EXPECT_EQ(ome04_lacks(image(kLevels)).text, "") << "a name alone is nothing that is missed";
}

TEST(Ome, EarlierDraftsSpellInputsAndOutputsAsStrings) {
  const char* levels = R"([{"path": "0", "coordinateTransformations": [
      {"type": "scale", "scale": [3, 3], "input": "0", "output": "physical"},
      {"type": "rotation", "rotation": [[0, -1], [1, 0]], "input": "physical",
       "output": "tilted"}]}])";
  const Json shown = shown_of(image(levels));
  EXPECT_EQ(shown[0]["axes"][0]["name"], "y");
  EXPECT_EQ(shown[0]["datasets"][0]["coordinateTransformations"],
            Json::parse(R"([{"type": "scale", "scale": [3, 3]}])"));
  EXPECT_THAT(ome04_lacks(image(levels)).text, HasSubstr("without the rotation from \"physical\""));
}

TEST(Ome, OfSeveralOutputsThatOfEveryLevelCounts) {
  const char* levels = R"([
    {"path": "0", "coordinateTransformations": [
      {"type": "affine", "affine": [[1, 1, 0], [0, 1, 0]], "output": {"name": "tilted"}},
      {"type": "scale", "scale": [3, 3], "output": {"name": "physical"}}]},
    {"path": "1", "coordinateTransformations": [
      {"type": "scale", "scale": [6, 6], "output": {"name": "physical"}}]}])";
  EXPECT_EQ(shown_of(image(levels))[0]["axes"][0]["name"], "y");
  EXPECT_THAT(ome04_lacks(image(levels)).text, HasSubstr("without the affine to \"tilted\""));
}

TEST(Ome, ImagesThatCannotBePlacedAreLeftOutAndTold) {
  const auto level = [](const std::string& transformations) {
    return R"([{"path": "s0", "coordinateTransformations": )" + transformations + "}]";
  };
  const std::string rotated = level(
      R"([{"type": "rotation", "rotation": [[0, -1], [1, 0]], "output": {"name": "physical"}}])");
  const std::string unplaced = level(R"([{"type": "identity", "output": {"name": "nowhere"}}])");
  const std::string unnamed = level(R"([{"type": "identity"}])");
  const std::string scaled = level(R"([{"type": "scale", "scale": [1], "output": "physical"}])");
  struct Row {
    Json attributes;
    const char* why;
  };
  const std::vector<Row> rows = {
      {image(rotated), "level \"s0\": rotation is more than a scale and a translation"},
      {image(scaled), "level \"s0\": scale has no list of 2 numbers"},
      {image(unplaced), "output \"nowhere\" is not defined"},
      {image(unnamed), "its levels name no output"},
      {image(level("[]")), "a level has no transformations"},
      {image("[]"), "it has no levels"},
      {image(kLevels, R"([{"name": "physical"}])"), "its coordinate system has no axes"},
      {image(kLevels, R"({"name": "physical"})"), "its coordinate systems are no list"},
      {image(R"([{"path": "0", "coordinateTransformations": [{"type": "identity", "output": "a"}]},
                 {"path": "1", "coordinateTransformations": [{"type": "identity", "output": "b"}]}])"),
       "no coordinate system is the output of every level"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(shown_of(row.attributes), Json::array()) << row.why;
    const Ome04Lacks lacks = ome04_lacks(row.attributes);
    EXPECT_TRUE(lacks.images) << row.why;
    EXPECT_THAT(lacks.text, HasSubstr("image \"cells\" is left out: ")) << row.why;
    EXPECT_THAT(lacks.text, HasSubstr(row.why));
    Json written = ome_as_04(row.attributes, {});
    written["multiscales"].push_back(Json{{"name", "other"}, {"version", "0.4"}});
    const Json stored = written_back(row.attributes, written)["ome"]["multiscales"];
    EXPECT_EQ(stored,
              Json::array({Json{{"name", "other"}}, row.attributes["ome"]["multiscales"][0]}));
  }
}

TEST(Ome, LevelsWithoutOutputLieInTheOnlySystemOrTheOwnAxes) {
  const char* levels = R"([{"path": "0", "coordinateTransformations": [
      {"type": "scale", "scale": [3, 3]}, {"type": "translation", "translation": [1, 1]}]}])";
  const char* one = R"([{"name": "a", "axes": [{"name": "y"}, {"name": "x"}]}])";
  const Json alone = shown_of(image(levels, one));
  EXPECT_EQ(alone[0]["datasets"], Json::parse(levels));
  EXPECT_EQ(alone[0]["axes"], Json::parse(R"([{"name": "y"}, {"name": "x"}])"));
  Json own = image(levels);
  own["ome"]["multiscales"][0]["axes"] = Json::parse(R"([{"name": "r"}, {"name": "c"}])");
  EXPECT_EQ(shown_of(own)[0]["axes"][0]["name"], "r");
}

TEST(Ome, ScenesAndMoreThanThreeImagesAreTold) {
  Json stored = image(kLevels, kSystems, kRotation);
  Json& multiscales = stored["ome"]["multiscales"];
  for (int i = 0; i < 4; ++i) multiscales.push_back(multiscales[0]);
  multiscales[1].erase("name");
  EXPECT_THAT(ome04_lacks(stored).text, HasSubstr("; image 1 is shown without"));
  EXPECT_THAT(ome04_lacks(stored).text, HasSubstr("; and 2 more"));
  EXPECT_THAT(ome04_lacks(Json::parse(R"({"ome": {"version": "0.6", "scene": {}}})")).text,
              HasSubstr("the scene"));
  for (const char* other : {R"({})", R"([])", R"({"ome": 1})", R"({"ome": {"multiscales": 1}})",
                            R"({"ome": {"multiscales": [1, {"datasets": []}]}})"}) {
    EXPECT_EQ(ome04_lacks(Json::parse(other)).text, "") << other;
  }
}

TEST(Ome, MoreThanThreeTransformationsAreCounted) {
  Json further = Json::array();
  for (int i = 0; i < 5; ++i) {
    further.push_back(Json{{"type", "rotation"}, {"output", {{"name", "s" + std::to_string(i)}}}});
  }
  further.push_back(Json{{"type", "identity"}, {"output", {{"name", "i"}, {"path", "labels/a"}}}});
  EXPECT_THAT(ome04_lacks(image(kLevels, kSystems, dump_json(further).c_str())).text,
              HasSubstr("the rotation to \"s2\" and 2 more"));
}

TEST(Ome, WhatIsWrittenBackAsItWasShownStaysAsItIsStored) {
  const Json stored = image(kLevels, kSystems, kRotation);
  EXPECT_EQ(written_back(stored, ome_as_04(stored, {})), stored);
  Json written = ome_as_04(stored, {});
  written["note"] = 1;
  written["multiscales"][0]["name"] = "renamed";
  Json expected = stored;
  expected["note"] = 1;
  expected["ome"]["multiscales"][0]["name"] = "renamed";
  EXPECT_EQ(written_back(stored, written), expected);
}

TEST(Ome, ChangedAxesAndPlacesGoWhereTheyAreStored) {
  const Json stored = image(kLevels, kSystems, kRotation);
  Json written = ome_as_04(stored, {});
  Json& multiscale = written["multiscales"][0];
  multiscale["axes"][0]["unit"] = "nanometer";
  multiscale["datasets"][0]["coordinateTransformations"] =
      Json::parse(R"([{"type": "scale", "scale": [7, 7]}])");
  multiscale["datasets"].push_back(Json::parse(R"({"path": "s2", "coordinateTransformations": [
      {"type": "scale", "scale": [28, 28]}, {"type": "translation", "translation": [1, 1]}]})"));
  Json expected = stored;
  Json& kept = expected["ome"]["multiscales"][0];
  kept["coordinateSystems"][1]["axes"][0]["unit"] = "nanometer";
  kept["datasets"][0]["coordinateTransformations"] = Json::parse(R"([
      {"type": "scale", "scale": [7, 7], "input": {"path": "s0"}, "output": {"name": "physical"},
       "name": "a"}])");
  kept["datasets"].push_back(Json::parse(R"({"path": "s2", "coordinateTransformations": [
      {"type": "sequence", "input": {"path": "s2"}, "output": {"name": "physical"},
       "transformations": [{"type": "scale", "scale": [28, 28]},
                           {"type": "translation", "translation": [1, 1]}]}]})"));
  const Json result = written_back(stored, written);
  EXPECT_TRUE(same_json(result, expected)) << result.dump(1) << expected.dump(1);
  EXPECT_EQ(shown_of(result)[0]["datasets"], written["multiscales"][0]["datasets"]);
  EXPECT_EQ(shown_of(result)[0]["axes"], written["multiscales"][0]["axes"]);
}

TEST(Ome, TransformationsThatAProgramAddsForAllLevelsGoIntoEach) {
  const Json stored = image(kLevels);
  Json written = ome_as_04(stored, {});
  written["multiscales"][0]["coordinateTransformations"] =
      Json::parse(R"([{"type": "scale", "scale": [10, 1]}])");
  const Json result = written_back(stored, written);
  EXPECT_FALSE(result["ome"]["multiscales"][0].contains("coordinateTransformations"));
  const Json levels = shown_of(result)[0]["datasets"];
  EXPECT_EQ(levels[0]["coordinateTransformations"],
            Json::parse(R"([{"type": "scale", "scale": [10, 1]}])"));
  EXPECT_EQ(levels[1]["coordinateTransformations"],
            Json::parse(R"([{"type": "scale", "scale": [20, 2]},
                            {"type": "translation", "translation": [5.0, 0.5]}])"));
}

TEST(Ome, AnImageThatAProgramMakesBesideThoseOf06IsStoredAs06) {
  const Json stored = image(kLevels, kSystems, kRotation);
  Json written = ome_as_04(stored, {});
  const Json made = Json::parse(R"({"name": "made", "axes": [{"name": "y"}, {"name": "x"}],
    "version": "0.4", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}],
    "datasets": [{"path": "m0", "coordinateTransformations": [{"type": "scale", "scale": [5, 5]}]}]})");
  written["multiscales"].push_back(made);
  const Json result = written_back(stored, written);
  EXPECT_EQ(result["ome"]["multiscales"][0], stored["ome"]["multiscales"][0]);
  const Json expected = Json::parse(R"({"name": "made",
    "coordinateSystems": [{"name": "intrinsic", "axes": [{"name": "y"}, {"name": "x"}]}],
    "datasets": [{"path": "m0", "coordinateTransformations": [
      {"type": "scale", "scale": [10.0, 10.0], "input": {"path": "m0"},
       "output": {"name": "intrinsic"}}]}]})");
  EXPECT_TRUE(same_json(result["ome"]["multiscales"][1], expected)) << result.dump(1);
  Json only = Json::parse(R"({"ome": {"version": "0.6.dev4", "labels": ["a"]}})");
  Json with_image = ome_as_04(only, {});
  with_image["multiscales"] = Json::array({made});
  EXPECT_TRUE(
      same_json(written_back(only, with_image)["ome"]["multiscales"], Json::array({expected})));
  only["ome"]["version"] = "0.5";
  EXPECT_TRUE(written_back(only, with_image)["ome"]["multiscales"][0].contains("axes"));
}

TEST(Ome, WhatAProgramWritesAs06ItselfIsKept) {
  const Json stored = image(kLevels);
  Json written = ome_as_04(stored, {});
  written["multiscales"][0] = image(kLevels, kSystems, kRotation)["ome"]["multiscales"][0];
  EXPECT_TRUE(
      same_json(written_back(stored, written)["ome"]["multiscales"], written["multiscales"]));
}

}  // namespace
}  // namespace zarrfs
