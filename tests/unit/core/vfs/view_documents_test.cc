// What a view leaves out of a document, or changes in it, when the document is written back: for
// each profile, on random attributes, and on the cases that programs met.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/present/profile.h"
#include "core/zarr/tree.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"
#include "tests/support/temp_dir.h"

namespace zarrfs::test {
namespace {

using Random = std::mt19937_64;

ViewOptions writing_view(const std::string& profile, ViewFormat format) {
  ViewOptions options;
  options.format = format;
  options.profile = profile;
  options.writing = Writing{};
  return options;
}

/// Writes as zarr does: into the file, from its start.
Result<void> write(ShownStore& shown, const std::string& directory, const std::string& name,
                   const std::string& text) {
  ZARRFS_TRY(const auto parent, shown.find(directory));
  if (!parent) return fail(Fault::kInvalid, directory + " is absent");
  ZARRFS_TRY(const Created made,
             shown.view().create(parent->id, name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  ZARRFS_CHECK(made.file->write(
      0, ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
  auto flushed = made.file->flush();
  made.file->closed();
  return flushed;
}

Json random_value(Random& random, int depth) {
  switch (random() % (depth > 2 ? 5 : 8)) {
    case 0: return static_cast<int>(random() % 1000);
    case 1: return "word" + std::to_string(random() % 10);
    case 2: return nullptr;
    case 3: return random() % 2 == 0;
    case 4: return static_cast<double>(random() % 8) / 4;
    case 5: return Json::array({1, static_cast<int>(random() % 300), 2.5});
    case 6: {
      Json list = Json::array();
      for (std::uint64_t i = random() % 3; i > 0; --i)
        list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (std::uint64_t i = random() % 3; i > 0; --i) {
        object["m" + std::to_string(random() % 5)] = random_value(random, depth + 1);
      }
      return object;
    }
  }
}

Json random_attributes(Random& random) {
  static const std::vector<std::string> kNames = {
      "units", "_FillValue", "labels", "version", "multiscales", "spatialdata_attrs", "a", "b"};
  Json attributes = Json::object();
  for (std::uint64_t i = random() % 5; i > 0; --i) {
    attributes[kNames[random() % kNames.size()]] = random_value(random, 0);
  }
  if (random() % 4 == 0) attributes["spatialdata_attrs"] = Json{{"version", "0.3"}, {"more", 1}};
  return attributes;
}

Json random_ome(Random& random) {
  Json system = Json::parse(R"([{"name": "physical", "axes": [{"name": "x"}]}])");
  const std::vector<Json> multiscales = {
      Json::parse(R"({"name": "plain", "datasets": [{"path": "0"}]})"),
      Json::parse(R"({"name": "inner", "version": "0.5", "datasets": []})"),
      Json{{"name", "systems"},
           {"coordinateSystems", system},
           {"datasets",
            Json::parse(R"([{"path": "0", "coordinateTransformations": [{"type": "sequence",
             "transformations": [{"type": "scale", "scale": [2]}, {"type": "affine", "affine": [[1, 5]]}]}]}])")}},
      Json{{"name", "tilted"},
           {"coordinateSystems", Json::parse(R"([{"name": "tilted", "axes": [{"name": "u"}]},
                                                 {"name": "physical", "axes": [{"name": "x"}]}])")},
           {"coordinateTransformations",
            Json::parse(
                R"([{"type": "affine", "affine": [[3, 1]], "output": {"name": "tilted"}}])")},
           {"datasets", Json::parse(R"([{"path": "0", "coordinateTransformations": [
             {"type": "identity", "input": {"path": "0"}, "output": {"name": "physical"}}]}])")}},
      Json{{"name", "bent"},
           {"coordinateSystems", system},
           {"datasets",
            Json::parse(
                R"([{"path": "0", "coordinateTransformations": [{"type": "displacements"}]}])")}},
  };
  Json ome = {{"version", random() % 2 == 0 ? "0.5" : "0.6-dev1"}};
  ome["multiscales"] = Json::array();
  for (std::uint64_t i = random() % 4; i > 0; --i) {
    ome["multiscales"].push_back(multiscales[random() % multiscales.size()]);
  }
  if (random() % 2 == 0) ome["omero"] = Json{{"channels", Json::array({1})}, {"version", "0.5"}};
  if (random() % 2 == 0) ome["labels"] = Json::array({"nuclei"});
  return ome;
}

Json random_names(Random& random, std::size_t rank) {
  Json names = Json::array();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (random() % 4 == 0) {
      names.push_back(nullptr);
    } else {
      names.push_back(std::string(1, static_cast<char>('t' + random() % 3)));
    }
  }
  return names;
}

/// A group "g" with two arrays whose dimensions may share names and differ in length.
void make_random_store(StoreMaker& maker, Random& random) {
  Json attributes = random_attributes(random);
  if (random() % 2 == 0) attributes["ome"] = random_ome(random);
  maker.group("").group("g", attributes);
  for (const char* name : {"g/a", "g/b"}) {
    ArrayPlan plan;
    plan.shape = {4 + 2 * (random() % 3), 6};
    Json document = plan.document();
    document["attributes"] = random_attributes(random);
    if (random() % 8 == 0) document["attributes"]["_ARRAY_DIMENSIONS"] = Json::array({"p", "q"});
    if (random() % 4 != 0) document["dimension_names"] = random_names(random, 2);
    if (random() % 4 == 0) document["extra"] = Json{{"must_understand", false}, {"x", 1}};
    maker.text(std::string(name) + "/zarr.json", dump_document(document));
  }
}

Json stored(const StoreMaker& maker, const std::string& path) {
  auto store = open_store(maker.root(), LinkPolicy::kInside);
  const auto document =
      (*store)->read_document(join_path(path, "zarr.json"), std::size_t{1} << 20U);
  return *parse_json((*document)->text, path);
}

struct View2Or3 {
  ViewFormat format;
  std::string profile;
};

std::vector<View2Or3> every_view() {
  std::vector<View2Or3> views = {{ViewFormat::kV3, "generic"}};
  for (const Profile& profile : profiles()) views.push_back({ViewFormat::kV2, profile.name});
  return views;
}

/// The document that has attributes.
std::string attributes_of(ViewFormat format) {
  return format == ViewFormat::kV2 ? ".zattrs" : "zarr.json";
}

TEST(ViewDocuments, WrittenBackUnchangedOrWithOneMemberMoreEverythingElseStays) {
  constexpr std::uint64_t kRounds = 6;
  for (const View2Or3& one : every_view()) {
    for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
      Random random(seed);
      StoreMaker maker;
      make_random_store(maker, random);
      ShownStore shown(maker.root(), writing_view(one.profile, one.format));
      for (const char* node : {"g", "g/a", "g/b"}) {
        SCOPED_TRACE(one.profile + " seed " + std::to_string(seed) + " node " + node);
        const std::string name = attributes_of(one.format);
        const auto text = shown.read(std::string(node) + "/" + name);
        if (!text) continue;  // hidden: the profile does not read it
        Json before = stored(maker, node);
        ASSERT_TRUE(write(shown, node, name, *text));
        EXPECT_TRUE(same_json(stored(maker, node), before)) << *text << "\n"
                                                            << before.dump() << "\n"
                                                            << stored(maker, node).dump();
        Json written = *parse_json(*text, name);
        Json& members = one.format == ViewFormat::kV2 ? written : written["attributes"];
        members["added by a program"] = 7;
        ASSERT_TRUE(write(shown, node, name, dump_document(written)));
        before["attributes"]["added by a program"] = 7;
        EXPECT_TRUE(same_json(stored(maker, node), before)) << *text << "\n"
                                                            << before.dump() << "\n"
                                                            << stored(maker, node).dump();
      }
    }
  }
}

TEST(ViewDocuments, DimensionNamesThatAreNotShownStay) {
  StoreMaker maker;
  maker.group("");
  for (const auto& [name, length] : {std::pair("a", 4), std::pair("b", 8)}) {
    ArrayPlan plan;
    plan.shape = {static_cast<std::uint64_t>(length), 4};
    Json document = plan.document();
    document["dimension_names"] = Json::array({"t", "x"});
    maker.text(std::string(name) + "/zarr.json", dump_document(document));
  }
  for (const char* profile : {"generic", "xarray"}) {
    ShownStore shown(maker.root(), writing_view(profile, ViewFormat::kV2));
    const Json attributes = *shown.json("a/.zattrs");
    ASSERT_TRUE(write(shown, "a", ".zattrs", dump_document(attributes)));
    EXPECT_EQ(stored(maker, "a")["dimension_names"], Json::array({"t", "x"})) << profile;
    // A program read the attributes while the lengths differed, and writes them when they agree.
    Json zarray = *shown.json("a/.zarray");
    zarray["shape"][0] = 8;
    ASSERT_TRUE(write(shown, "a", ".zarray", dump_document(zarray)));
    ASSERT_TRUE(write(shown, "a", ".zattrs", dump_document(attributes)));
    EXPECT_EQ(stored(maker, "a")["dimension_names"], Json::array({"t", "x"})) << profile;
    EXPECT_EQ((*shown.json("a/.zattrs"))["_ARRAY_DIMENSIONS"], Json::array({"t", "x"}));
    zarray["shape"][0] = 4;
    ASSERT_TRUE(write(shown, "a", ".zarray", dump_document(zarray)));
  }
  ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV2));
  ASSERT_TRUE(write(shown, "a", ".zattrs", R"({"_ARRAY_DIMENSIONS": ["time", "x"]})"));
  EXPECT_EQ(stored(maker, "a")["dimension_names"], Json::array({"time", "x"}));
}

TEST(ViewDocuments, AnArrayMadeAnewKeepsWhatZarrayDoesNotSay) {
  StoreMaker maker;
  ArrayPlan plan;
  Json document = plan.document();
  document["dimension_names"] = Json::array({"y", "x"});
  document["attributes"] = Json{{"units", "m"}};
  maker.group("").text("a/zarr.json", dump_document(document));
  ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV2));
  Json zarray = *shown.json("a/.zarray");
  zarray["dtype"] = "<f8";
  zarray["fill_value"] = 0.0;
  ASSERT_TRUE(write(shown, "a", ".zarray", dump_document(zarray)));
  EXPECT_EQ(stored(maker, "a")["data_type"], "float64");
  EXPECT_EQ(stored(maker, "a")["dimension_names"], Json::array({"y", "x"}));
  EXPECT_EQ(stored(maker, "a")["attributes"],  // axes with names: the fill value marks cells
            Json::parse(R"({"units": "m", "_FillValue": "AAAAAAAAAAA="})"));
  zarray["shape"] = Json::array({8});
  zarray["chunks"] = Json::array({4});
  ASSERT_TRUE(write(shown, "a", ".zarray", dump_document(zarray)));
  EXPECT_FALSE(stored(maker, "a").contains("dimension_names"));
  EXPECT_EQ(stored(maker, "a")["attributes"], Json::parse(R"({"units": "m"})"));
}

// A store whose root has it could not be mounted again.
TEST(ViewDocuments, ADocumentThatCouldNotBeReadAgainIsRefused) {
  StoreMaker maker;
  maker.group("").array("a");
  ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV3));
  const Json root = stored(maker, "");
  const Json array = stored(maker, "a");
  for (const char* member :
       {R"("node_types": {})", R"("attributes": 5)", R"("codes": [{"name": "x"}])"}) {
    const std::string group =
        std::string(R"({"zarr_format": 3, "node_type": "group", )") + member + "}";
    const auto written = write(shown, "", "zarr.json", group);
    ASSERT_FALSE(written) << member;
    EXPECT_EQ(written.error().fault, Fault::kInvalid) << member;
  }
  for (const auto& [member, value] :
       {std::pair("dimension_names", Json(5)), std::pair("attributes", Json::array())}) {
    Json document = array;
    document[member] = value;
    const auto written = write(shown, "a", "zarr.json", dump_document(document));
    ASSERT_FALSE(written) << member;
    EXPECT_EQ(written.error().fault, Fault::kInvalid) << member;
  }
  EXPECT_EQ(stored(maker, ""), root);
  EXPECT_EQ(stored(maker, "a"), array);
}

// They would stand where its shards belong, or be taken for them.
TEST(ViewDocuments, AGroupWithFilesNamedAsChunksDoesNotBecomeAnArray) {
  for (const char* name : {"c", "0", "0.0"}) {
    StoreMaker maker;
    maker.group("").group("g").array("a").text(std::string("g/") + name, "12345678");
    ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV2));
    const std::string zarray = dump_document(*shown.json("a/.zarray"));
    const Json group = stored(maker, "g");
    const auto refused = write(shown, "g", ".zarray", zarray);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().fault, Fault::kInvalid) << name;
    EXPECT_NE(refused.error().message.find(std::string("'") + name + "'"), std::string::npos);
    EXPECT_EQ(stored(maker, "g"), group) << name;
  }
}

TEST(ViewDocuments, ADocumentThatIsBeingWrittenCannotBeLinkedToItsOwnName) {
  StoreMaker maker;
  maker.group("");
  ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV2));
  View& view = shown.view();
  const auto directory = view.make_directory(kRootNode, "a", 0755);
  ASSERT_TRUE(directory);
  const auto made = view.create(directory->id, ".zgroup", O_WRONLY | O_CREAT, 0644);
  ASSERT_TRUE(made);
  const auto linked = view.link(made->found.id, directory->id, ".zgroup");
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().fault, Fault::kExists);
  made->file->closed();
}

TEST(ViewDocuments, ATemporaryFileKeepsItsNumberAndNoOtherFileGetsIt) {
  StoreMaker maker;
  maker.group("").array("a").chunk("a", {0, 0}, counting_elements(1, 4));
  ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV2));
  View& view = shown.view();
  const NodeId array = (*shown.find("a"))->id;
  const auto chunk = (*shown.find("a/0.0"))->status.st_ino;
  const auto lock = view.create(array, "0.0.__lock", O_RDWR | O_CREAT, 0644);
  ASSERT_TRUE(lock);
  const auto own = lock->found.status.st_ino;
  const Bytes bytes = counting_elements(9, 4);
  ASSERT_TRUE(lock->file->write(0, bytes));
  ASSERT_TRUE(*view.rename(array, "0.0.__lock", array, "0.0", true));
  EXPECT_EQ((*shown.find("a/0.0"))->status.st_ino, chunk);
  EXPECT_EQ((*lock->file->attributes())->status.st_ino, own);
  EXPECT_EQ(view.attributes(lock->found.id)->status.st_ino, own);
  const auto next = view.create(array, "0.0.__lock", O_RDWR | O_CREAT, 0644);
  ASSERT_TRUE(next);
  EXPECT_NE(next->found.status.st_ino, own);
  EXPECT_NE(next->found.status.st_ino, chunk);
  next->file->closed();
  lock->file->closed();
  EXPECT_EQ((*lock->file->attributes())->status.st_ino, own);
}

TEST(ViewDocuments, ANodeWaitsForThePlainFilesInItWithoutHoldingAThread) {
  StoreMaker maker;
  maker.group("");
  ShownStore shown(maker.root(), writing_view("generic", ViewFormat::kV2));
  View& view = shown.view();
  const auto directory = view.make_directory(kRootNode, "a", 0755);
  ASSERT_TRUE(directory);
  const auto chunk = view.create(directory->id, "0", O_WRONLY | O_CREAT, 0644);
  ASSERT_TRUE(chunk);
  const auto document = view.create(directory->id, ".zgroup", O_WRONLY | O_CREAT, 0644);
  ASSERT_TRUE(document);
  const std::string text = R"({"zarr_format": 2})";
  ASSERT_TRUE(document->file->write(
      0, ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
  const auto early = document->file->flush();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().fault, Fault::kBusy);
  EXPECT_TRUE(document->file->must_wait());
  const auto another = view.create(directory->id, "1", O_WRONLY | O_CREAT, 0644);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().fault, Fault::kBusy);
  EXPECT_TRUE(view.must_wait(directory->id, "1"));
  chunk->file->closed();
  EXPECT_TRUE(document->file->flush());
  EXPECT_FALSE(document->file->must_wait());
  document->file->closed();
}

}  // namespace
}  // namespace zarrfs::test
