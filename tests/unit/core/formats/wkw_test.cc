// Files and datasets of webknossos-wrap.
#include "core/formats/wkw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/formats/format_store.h"
#include "core/zarr/tree.h"
#include "tests/support/memory_store.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryStore;

/// Two blocks along each edge of a file, of 2 x 2 x 2 voxels of one byte.
std::string header(char block_type, std::uint64_t data_offset) {
  std::string text = {'W', 'K', 'W', 1, 0x11, block_type, 1, 1};
  for (int i = 0; i < 8; ++i) text += static_cast<char>(data_offset >> (8 * i));
  return text;
}

Result<WkwHeader> parse(const std::string& text) {
  return parse_wkw_header({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(WkwHeader, SaysWhichByteIsWrong) {
  ASSERT_TRUE(parse(header(1, 16)));
  const auto error = [](std::size_t at, char byte) {
    std::string text = header(1, 16);
    text[at] = byte;
    const auto parsed = parse(text);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_THAT(error(0, 'X'), HasSubstr("does not begin with WKW"));
  EXPECT_THAT(error(3, 2), HasSubstr("version is 2"));
  EXPECT_THAT(error(4, static_cast<char>(0xf1)), HasSubstr("along an edge is 32768"));
  EXPECT_THAT(error(4, 0x0f), HasSubstr("not at most 2 GiB"));
  EXPECT_THAT(error(5, 4), HasSubstr("block type is 4"));
  EXPECT_THAT(error(6, 11), HasSubstr("voxel type is 11"));
  EXPECT_THAT(error(7, 0), HasSubstr("voxel size is 0"));
  EXPECT_THAT(parse("WKW").error().message, HasSubstr("3 bytes"));
}

TEST(WkwIndex, NumbersBlocksInMortonOrder) {
  EXPECT_EQ(wkw_block_number({1, 0, 0}, 2), 1U);
  EXPECT_EQ(wkw_block_number({0, 1, 0}, 2), 2U);
  EXPECT_EQ(wkw_block_number({0, 0, 1}, 2), 4U);
  EXPECT_EQ(wkw_block_number({3, 0, 1}, 2), 13U);
}

TEST(WkwIndex, ChecksEachBlock) {
  const WkwHeader lz4 = *parse(header(2, 16 + 64));
  Bytes ends;
  for (const std::uint64_t end : {90, 90, 95, 300, 94, 96, 97, 98}) {
    append_little(ends, std::uint64_t{end});
  }
  const auto index = WkwIndex::make(lz4, ends, {.size = 100});
  ASSERT_TRUE(index);
  EXPECT_EQ(*index->find(0), (ByteRange{80, 10}));
  EXPECT_THAT(index->find(1).error().message, HasSubstr("block 1 from 90 to 90"));
  EXPECT_EQ(*index->find(2), (ByteRange{90, 5}));
  EXPECT_THAT(index->find(3).error().message, HasSubstr("the end, 100"));
  EXPECT_EQ(index->find(4).error().fault, Fault::kDamaged) << "it ends before it begins";
  EXPECT_FALSE(WkwIndex::make(lz4, Bytes(63), {}));
  EXPECT_FALSE(WkwIndex::make(*parse(header(2, 16)), ends, {})) << "blocks in the table";
}

class WkwVolumeTest : public ::testing::Test {
 protected:
  WkwVolumeTest() : inner(std::make_shared<MemoryStore>()), store(with_formats(inner)) {
    for (const char* path : {"d", "d/color", "d/color/1", "d/color/1/z0", "d/color/1/z0/y1"}) {
      EXPECT_TRUE(inner->make_directory(path, 0755));
    }
    inner->write_file("d/color/1/header.wkw", header(1, 0));
    std::string blocks;
    for (char block = 'a'; block < 'a' + 8; ++block) blocks += std::string(8, block);
    inner->write_file("d/color/1/z0/y1/x0.wkw", header(1, 16) + blocks);
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
  std::shared_ptr<MemoryStore> inner;
  std::shared_ptr<Store> store;
};

const char kProperties[] = R"({"id": {"name": "d", "team": "t"}, "scale": [4, 4, 35.5],
  "dataLayers": [{"name": "color", "category": "segmentation", "elementClass": "uint8",
    "dataFormat": "wkw", "boundingBox": {"topLeft": [1, 0, 0], "width": 2, "height": 7, "depth": 3},
    "wkwResolutions": [{"resolution": 1, "cubeLength": 4}, {"resolution": [2, 2, 1]}]}]})";

TEST_F(WkwVolumeTest, HasTheShapeOfItsFiles) {
  const Node array = load("d/color/1");
  ASSERT_EQ(array.kind, Node::Kind::kArray) << array.error.message;
  EXPECT_THAT(array.array->shape, ElementsAre(1, 4, 8, 4));
  EXPECT_EQ(read("d/color/1/c/0/0/2/0"), "aaaaaaaa");
  EXPECT_EQ(read("d/color/1/c/0/1/2/1"), "ffffffff");
  EXPECT_EQ(read("d/color/1/c/0/0/0/0"), "absent") << "there is no such file";
}

TEST_F(WkwVolumeTest, HasTheShapeOfItsDataset) {
  inner->write_file("d/datasource-properties.json", kProperties);
  EXPECT_EQ(load("d").kind, Node::Kind::kGroup);
  const Node layer = load("d/color");
  ASSERT_EQ(layer.kind, Node::Kind::kGroup);
  const Json& image = layer.group->attributes["ome"]["multiscales"][0];
  ASSERT_EQ(image["datasets"].size(), 1U) << "the other magnification is not there";
  EXPECT_EQ(image["datasets"][0]["coordinateTransformations"][0]["scale"],
            Json({1.0, 35.5, 4.0, 4.0}));
  EXPECT_TRUE(layer.group->attributes["ome"].contains("image-label"));
  EXPECT_THAT(load("d/color/1").array->shape, ElementsAre(1, 3, 7, 3));
}

TEST_F(WkwVolumeTest, DamageIsNeverAbsence) {
  load("d/color/1");
  inner->write_file("d/color/1/z0/y1/x0.wkw", header(1, 16) + "short");
  EXPECT_THAT(read("d/color/1/c/0/0/2/0"), HasSubstr("d/color/1/z0/y1/x0.wkw: block 0"));
  inner->write_file("d/color/1/z0/y1/x0.wkw", header(2, 16));
  EXPECT_THAT(read("d/color/1/c/0/0/2/0"), HasSubstr("other blocks or voxels"));
  inner->write_file("d/color/1/z0/y1/x0.wkw", "");
  EXPECT_THAT(read("d/color/1/c/0/0/2/0"), HasSubstr("0 bytes cannot hold a header"));
  inner->write_file("d/color/1/z0/y0", "no directory");
  EXPECT_THAT(read("d/color/1/c/0/0/0/0"), HasSubstr("z0/y0: a file stands where a directory"));
  inner->write_file("d/color/1/header.wkw", "WKV");
  EXPECT_EQ(load("d/color/1").kind, Node::Kind::kDamaged);
  inner->write_file("d/datasource-properties.json", "{}");
  EXPECT_EQ(load("d").kind, Node::Kind::kDamaged);
  EXPECT_THAT(load("d").error.message, HasSubstr("datasource-properties.json: scale is missing"));
}

}  // namespace
}  // namespace zarrfs
