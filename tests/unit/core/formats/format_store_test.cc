// Volumes of other formats, seen through the store that tells them as Zarr.
#include "core/formats/format_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/json.h"
#include "core/base/request.h"
#include "core/formats/voxel_chunk.h"
#include "core/store/layer_store.h"
#include "core/zarr/tree.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace zarrfs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryStore;

const char kInfo[] = R"({"@type": "neuroglancer_multiscale_volume", "type": "image",
  "data_type": "UINT8", "num_channels": 1, "scales": [
  {"key": "s0", "size": [3.0, 2, 1], "resolution": [4, 4, 40], "voxel_offset": [-2, 10, 0],
   "chunk_sizes": [[2, 2, 2]], "encoding": "raw"},
  {"key": "s1", "size": [2, 1, 1], "resolution": [8, 8, 40], "chunk_sizes": [[2, 2, 2]],
   "encoding": "ENCODING"}]})";

std::string info_with(const std::string& encoding) {
  std::string info = kInfo;
  return info.replace(info.find("ENCODING"), 8, encoding);
}

class FormatStoreTest : public ::testing::Test {
 protected:
  FormatStoreTest() : inner(std::make_shared<MemoryStore>()), store(with_formats(inner)) {
    EXPECT_TRUE(inner->make_directory("v", 0755));
    EXPECT_TRUE(inner->make_directory("v/s0", 0755));
    inner->write_file("v/info", info_with("raw"));
    inner->write_file("v/s0/-2-0_10-12_0-1", "abcd");  // x fastest: (0, 0) (1, 0) (0, 1) (1, 1)
    inner->write_file("v/s0/0-1_10-12_0-1", "ef");
  }

  Node load(const std::string& path) {
    auto node = load_node(*store, path);
    EXPECT_TRUE(node) << node.error().message;
    return node ? std::move(*node) : Node{};
  }
  std::string read(const std::string& path) {
    const auto file = store->open(path);
    if (!file) return "error " + file.error().message;
    if (*file == nullptr) return "absent";
    const auto bytes = (*file)->read_range({0, (*file)->size()});
    return bytes ? std::string(bytes->begin(), bytes->end()) : "error " + bytes.error().message;
  }
  std::vector<std::string> list(const std::string& path) {
    const auto entries = store->list(path);
    EXPECT_TRUE(entries) << entries.error().message;
    std::vector<std::string> names;
    if (!entries || !*entries) return {"absent"};
    for (const Entry& entry : **entries) names.push_back(entry.name);
    std::sort(names.begin(), names.end());
    return names;
  }

  std::shared_ptr<MemoryStore> inner;
  std::shared_ptr<Store> store;
};

TEST_F(FormatStoreTest, TellsAVolumeAsAGroupOfArrays) {
  const Node group = load("v");
  ASSERT_EQ(group.kind, Node::Kind::kGroup);
  const Json& image = group.group->attributes["ome"]["multiscales"][0];
  EXPECT_EQ(image["axes"][1]["unit"], "nanometer");
  EXPECT_EQ(image["datasets"][1]["path"], "s1");
  const Json& finest = image["datasets"][0]["coordinateTransformations"];
  EXPECT_EQ(finest[0]["scale"], Json({1.0, 40.0, 4.0, 4.0}));
  EXPECT_EQ(finest[1]["translation"], Json({0.0, 0.0, 40.0, -8.0}));
  EXPECT_EQ(image["datasets"][1]["coordinateTransformations"][1]["translation"],
            Json({0.0, 0.0, 2.0, 2.0}))
      << "centres of voxels twice as large lie half a small voxel further";
  const Node array = load("v/s0");
  ASSERT_EQ(array.kind, Node::Kind::kArray) << array.error.message;
  EXPECT_THAT(array.array->shape, ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(array.layout->chunk_shape(), ElementsAre(1, 1, 2, 2)) << "cut to one slice";
  EXPECT_EQ(load("v/s1").kind, Node::Kind::kArray) << "whose directory does not exist";
}

TEST_F(FormatStoreTest, FindsAScaleThatIsAskedForFirst) {
  EXPECT_EQ(load("v/s1").kind, Node::Kind::kArray);
}

TEST_F(FormatStoreTest, ShowsWholeChunksInPlaceAndCutOnesMadeWhole) {
  load("v/s0");
  EXPECT_EQ(read("v/s0/c/0/0/0/0"), "abcd");
  EXPECT_EQ(read("v/s0/c/0/0/0/1"), std::string("e\0f\0", 4));
  const auto part = (*store->open("v/s0/c/0/0/0/0"))->place();
  ASSERT_TRUE(part && part->as_stored);
  EXPECT_EQ(part->path, "v/s0/-2-0_10-12_0-1");
  EXPECT_EQ(part->range, (ByteRange{0, 4}));
  EXPECT_EQ((*store->status("v/s0/c/0/0/0/1"))->st_size, 4);
  load("v/s1");
  EXPECT_EQ(read("v/s1/c/0/0/0/0"), "absent");
  EXPECT_EQ(read("v/s0/c/0/0/0/2"), "absent") << "outside of the grid";
  EXPECT_EQ(read("v/s0/c/0/0/0/01"), "absent") << "no canonical key";
}

TEST_F(FormatStoreTest, MadeChunksAreFilesOfTheirOwn) {
  std::string info = info_with("raw");
  info.replace(info.find("[3.0, 2, 1]"), 11, "[3.0, 3, 1]");
  inner->write_file("v/info", info);
  inner->write_file("v/s0/-2-0_12-13_0-1", "gh");
  load("v/s0");
  EXPECT_EQ(read("v/s0/c/0/0/1/0"), std::string("gh\0\0", 4));
  const auto one = *store->open("v/s0/c/0/0/1/0");
  const auto other = *store->open("v/s0/c/0/0/0/1");
  EXPECT_NE(one->identity(), other->identity());
  EXPECT_EQ(one->identity(), identity_of(*one->current_status()));
}

TEST_F(FormatStoreTest, ListsNodesAndChunksOnly) {
  load("v");
  EXPECT_THAT(list("v"), ElementsAre("s0", "s1", "zarr.json"));
  EXPECT_EQ(read("v/info"), "absent") << "zarr.json stands for it";
  EXPECT_THAT(list("v/s0"), ElementsAre("c", "zarr.json"));
  EXPECT_THAT(list("v/s0/c"), ElementsAre("0"));
  EXPECT_THAT(list("v/s0/c/0/0/0"), ElementsAre("0", "1"));
  EXPECT_TRUE(inner->remove("v/s0/0-1_10-12_0-1"));
  EXPECT_THAT(list("v/s0/c/0/0/0"), ElementsAre("0"));
  EXPECT_THAT(list("v/s0/c/0/0/0/0"), ElementsAre("absent"));
}

TEST_F(FormatStoreTest, ListingTellsOfAVolumeThatNobodyAskedFor) {
  EXPECT_THAT(list("v"), Contains("zarr.json"));
}

TEST_F(FormatStoreTest, ReadsGzippedFiles) {
  EXPECT_TRUE(inner->remove("v/s0/0-1_10-12_0-1"));
  const Bytes text = {'e', 'f'};
  const Bytes gzip = stored_gzip(text);
  inner->write_file("v/s0/0-1_10-12_0-1.gz", std::string(gzip.begin(), gzip.end()));
  load("v/s0");
  EXPECT_EQ(read("v/s0/c/0/0/0/1"), std::string("e\0f\0", 4));
  EXPECT_THAT(list("v/s0/c/0/0/0"), ElementsAre("0", "1"));
  inner->write_file("v/s0/0-1_10-12_0-1.gz", std::string(gzip.begin(), gzip.end() - 3));
  EXPECT_THAT(read("v/s0/c/0/0/0/1"), HasSubstr("0-1_10-12_0-1.gz: gzip"));
}

TEST_F(FormatStoreTest, DamageIsNeverAbsence) {
  inner->write_file("v/s0/0-1_10-12_0-1", "efg");
  load("v/s0");
  EXPECT_THAT(read("v/s0/c/0/0/0/1"), HasSubstr("3 bytes, and its voxels are 2"));
  EXPECT_THAT(list("v/s0/c/0/0/0"), ElementsAre("0", "1")) << "whoever asks is told why";
  inner->remove("v/s0/0-1_10-12_0-1");
  inner->write_file("v/s0/0-1_10-12_0-1.br", "x");
  EXPECT_THAT(read("v/s0/c/0/0/0/1"), HasSubstr("is compressed by Brotli, as its name tells"));
}

TEST_F(FormatStoreTest, ABrokenInfoIsADamagedNode) {
  for (const auto& [from, to, message] :
       {std::tuple{"[2, 2, 2]", "[2, 0, 2]", "v/info: scales[0].chunk_sizes[0][1] is 0"},
        {"[3.0, 2, 1]", "[3.5, 2, 1]", "v/info: scales[0].size[0] is 3.5"},
        {"\"s1\"", "\"../s1\"", "scales[1].key is \"../s1\""},
        {"\"s1\"", "\"s0\"", "two scales are called s0"},
        {"\"num_channels\": 1,", "", "v/info: num_channels is missing"},
        {"UINT8", "uint9", "data_type is \"uint9\""},
        {"[4, 4, 40]", "[4, -4, 40]", "scales[0].resolution[1] is -4"}}) {
    std::string info = info_with("raw");
    info.replace(info.find(from), std::string(from).size(), to);
    inner->write_file("v/info", info);
    const Node node = load("v");
    EXPECT_EQ(node.kind, Node::Kind::kDamaged) << to;
    EXPECT_THAT(node.error.message, HasSubstr(message));
    EXPECT_THAT(list("v"), Contains("zarr.json"));
  }
}

TEST_F(FormatStoreTest, AnUnknownEncodingHidesItsScaleByName) {
  inner->write_file("v/info", info_with("jxl"));
  EXPECT_EQ(load("v").kind, Node::Kind::kGroup);
  const Node node = load("v/s1");
  EXPECT_EQ(node.kind, Node::Kind::kUnsupported);
  EXPECT_THAT(node.error.message, HasSubstr("neuroglancer_precomputed.jxl"));
}

TEST_F(FormatStoreTest, AChangedInfoIsReadAnew) {
  EXPECT_THAT(load("v/s0").array->shape, ElementsAre(1, 1, 2, 3));
  std::string info = info_with("raw");
  info.replace(info.find("[3.0, 2, 1]"), 11, "[2, 2, 1]");
  inner->write_file("v/info", info);
  EXPECT_THAT(load("v/s0").array->shape, ElementsAre(1, 1, 2, 2));
  EXPECT_TRUE(inner->remove("v/info"));
  EXPECT_EQ(load("v/s0").kind, Node::Kind::kPlain);
  EXPECT_EQ(read("v/s0/-2-0_10-12_0-1"), "abcd") << "a plain file again";
}

TEST_F(FormatStoreTest, AZarrDocumentWins) {
  inner->write_file("v/zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  EXPECT_TRUE(load("v").group->attributes->empty());
}

TEST_F(FormatStoreTest, RefusesToWriteIntoAVolumeByName) {
  load("v/s0");
  const auto made = store->create("v/s0/c/0/0/0/0", 0644);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().fault, Fault::kReadOnly);
  EXPECT_THAT(made.error().message, HasSubstr("/v is a volume of Neuroglancer precomputed"));
  EXPECT_FALSE(store->rename("v/info", "w"));
  EXPECT_FALSE(store->remove("v/s0/0-1_10-12_0-1"));
  EXPECT_TRUE(store->create("other", 0644)) << "beside it";
  EXPECT_FALSE(store->why_read_only()) << "a store that holds other things, too";
}

TEST_F(FormatStoreTest, AStoreThatIsAVolumeIsReadOnly) {
  inner->write_file("info", info_with("raw"));
  EXPECT_THAT(store->why_read_only().value_or(""), HasSubstr("Neuroglancer precomputed"));
}

TEST_F(FormatStoreTest, ListsNoMoreThanAMillionChunksAlongAnAxis) {
  std::string info = info_with("raw");
  info.replace(info.find("3.0, 2, 1"), 9, "536870912, 2, 1");
  inner->write_file("v/info", info);
  EXPECT_EQ(load("v/s0").kind, Node::Kind::kArray);
  const auto entries = store->list("v/s0/c/0/0/0");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().fault, Fault::kTooBig);
  EXPECT_THAT(
      entries.error().message,
      AllOf(HasSubstr("v/s0: info tells of 268435456 chunks along axis 3"), HasSubstr("1048576")));
  EXPECT_EQ(read("v/s0/c/0/0/0/0"), "abcd") << "what is asked for is found";
}

TEST_F(FormatStoreTest, AListingEndsWhenNobodyWaits) {
  const RequestScope scope(std::nullopt, [](const void*) { return true; });
  ASSERT_TRUE(load("v/s0").array);
  const auto entries = store->list("v/s0/c/0/0/0");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().fault, Fault::kGivenUp);
}

TEST_F(FormatStoreTest, AnErrorThatMayPassIsNotKept) {
  const auto counting = std::make_shared<CountingStore>(inner);
  store = with_formats(counting);
  counting->calls().fail_once(StoreCall::kReadAt, 1, EIO);
  EXPECT_EQ(load("v/s0").kind, Node::Kind::kDamaged) << "its info cannot be read";
  EXPECT_EQ(load("v/s0").kind, Node::Kind::kArray) << "though the file has not changed";
}

/// A store far away, with what it was told is going to be opened.
class FarStore final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  [[nodiscard]] StoreTraits traits() const override {
    return {.directories = false, .lists = true, .near = false};
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    hints[path] = hint;
    return below().open_for(path, hint);
  }
  void expect(std::span<const std::string> paths, const OpenHint& /*hint*/) override {
    expected.emplace_back(paths.begin(), paths.end());
  }
  std::map<std::string, OpenHint> hints;
  std::vector<std::vector<std::string>> expected;
};

TEST_F(FormatStoreTest, AsksAServerForAllMarkersAtOnce) {
  const auto far = std::make_shared<FarStore>(inner);
  store = with_formats(far);
  ASSERT_EQ(load("v/s0").kind, Node::Kind::kArray);
  ASSERT_FALSE(far->expected.empty());
  EXPECT_THAT(
      far->expected.front(),
      ElementsAre("v/s0/info", "v/s0/datasource-properties.json", "v/s0/header.wkw", "v/info",
                  "v/datasource-properties.json", "info", "datasource-properties.json"));
}

TEST_F(FormatStoreTest, FilesOfAVolumeAreAskedForAsTheyAreRead) {
  const auto far = std::make_shared<FarStore>(inner);
  store = with_formats(far);
  ASSERT_EQ(load("v/s0").kind, Node::Kind::kArray);
  EXPECT_EQ(read("v/s0/c/0/0/0/0"), "abcd");
  EXPECT_EQ(far->hints["v/s0/-2-0_10-12_0-1"].part, OpenHint::Part::kStart);
  far->expected.clear();
  const std::vector<std::string> paths = {"v/s0/c/0/0/0/0", "v/s0/c/0/0/0/1", "other"};
  store->expect(paths, {OpenHint::Part::kWhole});
  ASSERT_EQ(far->expected.size(), 2U);
  EXPECT_THAT(far->expected[0], ElementsAre("other"));
  EXPECT_THAT(far->expected[1], ElementsAre("v/s0/-2-0_10-12_0-1", "v/s0/0-1_10-12_0-1"));
  EXPECT_THAT(list("v/s0/c/0/0/0"), ElementsAre("0", "1"));
  EXPECT_TRUE(store->traits().lists && !store->traits().near && !store->traits().directories)
      << "as the store below";
}

TEST_F(FormatStoreTest, OtherFilesCalledInfoAreNoVolumes) {
  for (const char* text :
       {"{\"@type\": \"neuroglancer_skeletons\", \"scales\": []}", "no JSON", "[]", "{}"}) {
    inner->write_file("v/info", text);
    EXPECT_EQ(load("v").kind, Node::Kind::kPlain) << text;
    EXPECT_THAT(list("v"), ElementsAre("info", "s0")) << text;
  }
}

}  // namespace
}  // namespace zarrfs
