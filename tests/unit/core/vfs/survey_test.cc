// What a store is taken for when it is mounted, and how its tree is shown to the readers of that.
#include "core/nodes/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/vfs/open_view.h"
#include "tests/support/memory_store.h"
#include "tests/support/shown_store.h"

namespace zarrfs::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::zarrfs::testing::MemoryStore;

Json group_document(const Json& attributes) {
  return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}};
}

Json array_document(const Json& shape, const Json& names, const Json& attributes,
                    const std::string& type = "int16") {
  Json document = Json::parse(R"({"zarr_format": 3, "node_type": "array", "fill_value": 0,
    "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]})");
  document["shape"] = shape;
  document["chunk_grid"] = {{"name", "regular"}, {"configuration", {{"chunk_shape", shape}}}};
  document["data_type"] = type;
  document["attributes"] = attributes;
  if (type == "string") {
    document["fill_value"] = "";
    document["codecs"] = Json::parse(R"([{"name": "vlen-utf8"}])");
  }
  if (type == "complex64") document["fill_value"] = {0, 0};
  if (!names.is_null()) document["dimension_names"] = names;
  return document;
}

class Tree {
 public:
  Tree& add(const std::string& path, const Json& document) {
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      make(path.substr(0, at));
    }
    if (!path.empty()) make(path);
    store->write_file(join_path(path, "zarr.json"), document.dump());
    return *this;
  }
  [[nodiscard]] ProfileChoice choice() const { return choose_for(survey_store(*store, 1000)); }
  [[nodiscard]] std::unique_ptr<View> shown(const std::string& profile,
                                            std::vector<std::uint64_t> rechunk = {}) const {
    ViewOptions options;
    options.profile = profile;
    options.rechunk = std::move(rechunk);
    auto view = open_view(store, options);
    EXPECT_TRUE(view) << view.error().message;
    return std::move(*view);
  }
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();

 private:
  void make(const std::string& path) const {
    const auto made = store->make_directory(path, 0777);
    static_cast<void>(made);  // it may be there
  }
};

const Json kOwnImage = Json::parse(R"({"ome": {"version": "0.5", "multiscales": [{"datasets": [
    {"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]},
    {"path": "s1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}]}]}]}})");

Tree plate() {
  Tree tree;
  tree.add("", group_document(Json::parse(R"({"ome": {"version": "0.5", "plate": {}}})")));
  tree.add("A", group_document(Json::object()));
  tree.add("A/1", group_document(Json::parse(R"({"ome": {"version": "0.5", "well": {}}})")));
  tree.add("A/1/0", group_document(kOwnImage));
  tree.add("A/1/0/s0", array_document({4, 6}, nullptr, Json::object()));
  tree.add("A/1/0/s1", array_document({2, 3}, nullptr, Json::object()));
  return tree;
}

TEST(Survey, TheProfileIsThatOfWhatTheStoreIs) {
  EXPECT_EQ(Tree().choice().profile, "generic") << "an empty store";
  EXPECT_EQ(Tree()
                .add("", group_document(Json::object()))
                .add("a", array_document({4}, nullptr, {{"units", "m"}}))
                .choice()
                .profile,
            "generic");
  EXPECT_EQ(plate().choice().profile, "ome");
  EXPECT_THAT(plate().choice().because, HasSubstr("OME-Zarr"));
  EXPECT_EQ(Tree().add("g/x", array_document({4}, {"x"}, Json::object())).choice().profile,
            "netcdf")
      << "a coordinate";
  EXPECT_EQ(Tree().add("t", array_document({4}, {"x"}, {{"scale_factor", 0.5}})).choice().profile,
            "netcdf");
  EXPECT_EQ(Tree()
                .add("x", array_document({4}, {"x"}, Json::object()))
                .add("names", array_document({4}, {"x"}, Json::object(), "string"))
                .choice()
                .profile,
            "xarray")
      << "text, which netCDF-C cannot be shown";
  const auto lengths = [](int inner) {
    return Tree()
        .add("x", array_document({4}, {"x"}, Json::object()))
        .add("inner/x", array_document({inner}, {"x"}, Json::object()))
        .choice();
  };
  EXPECT_EQ(lengths(4).profile, "netcdf");
  EXPECT_EQ(lengths(3).profile, "xarray");
  EXPECT_THAT(lengths(3).because, HasSubstr("profile=netcdf, which would rename dimensions"));
}

TEST(Survey, ADefaultMountSaysWhatWasChosenAndAnExplicitProfileWins) {
  Tree tree;
  tree.add("x", array_document({4}, {"x"}, Json::object()));
  const auto chosen = tree.shown("auto");
  EXPECT_THAT(chosen->notice(), HasSubstr("profile netcdf (/x "));
  const Json report = Json::parse(chosen->report());
  EXPECT_EQ(report["profile"], "netcdf");
  EXPECT_THAT(report["profile_because"].get<std::string>(), HasSubstr("/x "));
  const auto asked = tree.shown("generic");
  EXPECT_EQ(asked->notice(), "");
  EXPECT_EQ(Json::parse(asked->report())["profile"], "generic");
}

TEST(Survey, WhatIsHiddenOrNotRechunkedIsSaid) {
  Tree tree;
  tree.add("", group_document(Json::object()));
  tree.add("flags", array_document({4}, {"x"}, Json::object(), "string"));
  tree.add("x", array_document({4}, {"x"}, Json::object()));
  EXPECT_THAT(tree.shown("netcdf")->notice(),
              HasSubstr("1 hidden (/flags): see .zarrfs/report.json"));
  EXPECT_THAT(tree.shown("generic", {5, 5})->notice(),
              HasSubstr("2 not re-chunked (/flags, /x): see"));
}

TEST(Survey, BesideImagesArraysThatTheirReadersDoNotKnowAreShown) {
  Tree tree;
  tree.add("image", group_document(kOwnImage));
  tree.add("image/s0", array_document({4, 6}, nullptr, Json::object()));
  tree.add("image/phase", array_document({4}, nullptr, Json::object(), "complex64"));
  tree.add("data/waves", array_document({4}, {"x"}, {{"units", "m"}}, "complex64"));
  tree.add("data/x", array_document({4}, {"x"}, Json::object()));
  const auto chosen = tree.shown("auto");
  EXPECT_THAT(chosen->notice(), HasSubstr("profile ome ("));
  EXPECT_THAT(chosen->notice(), HasSubstr("1 hidden (/image/phase)"));
  ShownStore shown(tree.shown("auto"));
  EXPECT_EQ((*shown.json("data/waves/.zarray"))["dtype"], "<c8");
  EXPECT_EQ((*shown.json("data/waves/.zattrs"))["_ARRAY_DIMENSIONS"], Json({"x"}));
  EXPECT_EQ((*shown.json("image/s0/.zarray"))["dimension_separator"], "/");
  EXPECT_TRUE(shown.absent("image/phase"));
  ShownStore asked(tree.shown("ome"));
  EXPECT_TRUE(asked.absent("data/waves"));
}

TEST(Survey, ADefaultMountShowsListsOfTextAndSaysWhoDoesNotOpenThem) {
  const Json attributes = {{"names", {"a", "b"}}};
  Tree tree;
  tree.add("x", array_document({4}, {"x"}, attributes));
  ShownStore shown(tree.shown("auto"));
  EXPECT_EQ((*shown.json("x/.zattrs"))["names"], attributes["names"]);
  EXPECT_THAT(shown.view().notice(), HasSubstr("profile netcdf (/x "));
  EXPECT_THAT(
      shown.view().notice(),
      HasSubstr("for netCDF-C 4.9.0 mount with profile=netcdf: it opens no lists of text as "
                "/x has among its attributes"));
  ShownStore asked(tree.shown("netcdf"));
  EXPECT_EQ((*asked.json("x/.zattrs"))["names"], R"(["a","b"])");
}

TEST(Survey, WhatOme04CannotSayIsSaid) {
  const auto image = [](const Json& transformation, const Json& further) {
    Json attributes =
        Json::parse(R"({"ome": {"version": "0.6", "multiscales": [{"coordinateSystems":
        [{"name": "physical", "axes": [{"name": "y"}, {"name": "x"}]}]}]}})");
    Json& multiscale = attributes["ome"]["multiscales"][0];
    multiscale["datasets"] =
        Json::array({Json{{"path", "0"}, {"coordinateTransformations", {transformation}}}});
    multiscale["coordinateTransformations"] = further;
    return group_document(attributes);
  };
  const Json placed = Json::parse(R"({"type": "identity", "output": {"name": "physical"}})");
  const Json rotated = Json::parse(
      R"({"type": "rotation", "rotation": [[0, -1], [1, 0]], "output": {"name": "physical"}})");
  Tree tree;
  tree.add("", group_document(Json::object()));
  tree.add("a", image(placed, Json::array()));
  tree.add("b", image(placed, Json::array({rotated})));
  tree.add("c", image(rotated, Json::array()));
  const auto shown = tree.shown("auto");
  EXPECT_THAT(shown->notice(), HasSubstr("1 with an image that OME-Zarr 0.4 cannot place (/c), 1 "
                                         "without what OME-Zarr 0.4 cannot say (/b): see "
                                         ".zarrfs/report.json"));
  const Json nodes = Json::parse(shown->report())["nodes"];
  ASSERT_EQ(nodes.size(), 2U) << nodes;
  EXPECT_EQ(nodes[0]["path"], "/b");
  EXPECT_EQ(nodes[0]["shown"], "reduced");
  EXPECT_THAT(nodes[1]["reason"].get<std::string>(), HasSubstr("rotation is more than"));
  ViewOptions v3;
  v3.format = ViewFormat::kV3;
  const auto as_stored = open_view(tree.store, v3);
  ASSERT_TRUE(as_stored);
  EXPECT_EQ((*as_stored)->notice(), "") << "Zarr v3 shows it as it is stored";
}

TEST(Survey, NetcdfNeverSeesANameOfADimensionWithTwoLengths) {
  Tree tree;
  tree.add("", group_document(Json::object()));
  tree.add("a", group_document(Json::object()));
  tree.add("a/inner", array_document({6}, {"x"}, Json::object()));
  tree.add("outer", array_document({4}, {"x"}, Json::object()));
  ShownStore netcdf(tree.shown("netcdf"));
  EXPECT_EQ((*netcdf.json("outer/.zattrs"))["_ARRAY_DIMENSIONS"], Json({"x"}));
  EXPECT_EQ((*netcdf.json("a/inner/.zattrs"))["_ARRAY_DIMENSIONS"], Json({"x_6"}));
  EXPECT_THAT(netcdf.view().report(), HasSubstr("x as x_6"));
  ShownStore xarray(tree.shown("xarray"));
  EXPECT_EQ((*xarray.json("a/inner/.zattrs"))["_ARRAY_DIMENSIONS"], Json({"x"}));
}

TEST(Survey, LevelsInPlatesAreShownByNumberEverywhere) {
  const Tree tree = plate();
  ShownStore shown(tree.shown("ome"));
  EXPECT_THAT(*shown.list("A/1/0"), ElementsAre(".zgroup", ".zattrs", ".zmetadata", "0", "1"));
  EXPECT_EQ((*shown.json("A/1/0/0/.zarray"))["shape"], Json({4, 6}));
  EXPECT_TRUE(shown.absent("A/1/0/s0"));
  const Json levels = (*shown.json("A/1/0/.zattrs"))["multiscales"][0]["datasets"];
  EXPECT_EQ(levels[1]["path"], "1");
  const Json metadata = (*shown.json(".zmetadata"))["metadata"];
  EXPECT_TRUE(metadata.contains("A/1/0/1/.zarray")) << metadata;
  EXPECT_FALSE(metadata.contains("A/1/0/s1/.zarray"));
  EXPECT_THAT(shown.view().report(), HasSubstr("shown as 1"));
  ShownStore generic(tree.shown("generic"));
  EXPECT_THAT(*generic.list("A/1/0"), Contains("s0"));
}

TEST(Survey, LevelsOutsideOfPlatesKeepTheirNames) {
  Tree tree;
  tree.add("image", group_document(kOwnImage));
  tree.add("image/s0", array_document({4, 6}, nullptr, Json::object()));
  ShownStore shown(tree.shown("ome"));
  EXPECT_THAT(*shown.list("image"), Contains("s0"));
  EXPECT_THAT(*shown.list("image"), Not(Contains("0")));
}

}  // namespace
}  // namespace zarrfs::test
