// What is asked for in advance of an array that is read in some order: 16 x 16 x 16 chunks of 64
// KiB in shards of 4 x 4 x 4, each in C order. What is asked for comes at once here.
#include "core/chunks/far_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/base/json.h"
#include "core/chunks/joined_ranges.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{64} << 10U;
constexpr std::uint64_t kEdge = 16;
constexpr std::uint64_t kEntries = 64;
constexpr std::uint64_t kWindow = std::uint64_t{8} << 20U;
constexpr std::uint64_t kRoom = std::uint64_t{64} << 20U;

constexpr const char* kArray = R"({"zarr_format":3,"node_type":"array","shape":[512,512,512],
    "data_type":"uint16","fill_value":0,"chunk_key_encoding":{"name":"default"},
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[128,128,128]}},
    "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[32,32,32],
      "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
      "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]})";

Layout layout_of_array() {
  const auto array = parse_array(*parse_json(kArray, "zarr.json"), "a");
  return *Layout::make(*array);
}

class NoBytes final : public File {
 public:
  explicit NoBytes(std::uint64_t inode) { status_.st_ino = inode; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t /*offset*/, MutableByteView /*out*/) const override {
    return fail(Fault::kUnsupported, "no bytes");
  }

 private:
  struct stat status_ {};
};

class FarWalkTest : public testing::Test {
 protected:
  struct Shard {
    std::shared_ptr<const File> file;
    std::vector<int> brought = std::vector<int>(kEntries, 0);  // how often each chunk was
    std::vector<bool> kept = std::vector<bool>(kEntries);      // in the cache
  };

  void read(const Coordinates& at) {
    const ChunkPlace place = layout_.place_of(at);
    const std::uint64_t cell = linear_of(place.cell, layout_.grid().counts());
    Shard& shard = shard_of(cell);
    FarChunk chunk;
    chunk.inode = shard.file->identity().inode;
    chunk.cell = cell;
    chunk.at = at;
    chunk.cell_at = place.cell;
    chunk.path = "c/" + std::to_string(cell);
    chunk.file = shard.file;
    chunk.number = place.number;
    chunk.entries = kEntries;
    chunk.size = kEntries * kChunk;
    chunk.range = {place.number * kChunk, kChunk};
    const FarPlan plan = walk_.plan(chunk, layout_, room_);
    if (plan.range) bring(cell, {*plan.range});
    for (const std::uint64_t entry : plan.entries) {
      if (entry != chunk.number) bring(cell, {{entry * kChunk, kChunk}});
    }
    for (const FarAsk& ask : plan.asks) answer(ask);
    opened_ahead_ += plan.cells.size();
    for (FarAsk ask : plan.next) {
      ask.file = shard_of(ask.cell).file;
      ask.inode = ask.file->identity().inode;
      answer(ask);
    }
    if (!shard.kept[chunk.number]) bring(cell, {chunk.range});
  }

  void read(const ChunkBox& box) {
    Coordinates at = box.first;
    do read(at);
    while (box.step(at));
  }

  /// Chunks that were brought `times`, or more often.
  [[nodiscard]] std::uint64_t brought(int times = 1) const {
    std::uint64_t count = 0;
    for (const auto& [cell, shard] : shards_) {
      for (const int often : shard.brought) count += often >= times ? 1 : 0;
    }
    return count;
  }

  void empty_cache() {
    for (auto& [cell, shard] : shards_) shard.kept.assign(kEntries, false);
  }

  Layout layout_ = layout_of_array();
  FarWalk walk_{kWindow};
  std::uint64_t room_ = kRoom;
  std::uint64_t requests_ = 0;
  std::uint64_t opened_ahead_ = 0;

 private:
  Shard& shard_of(std::uint64_t cell) {
    Shard& shard = shards_[cell];
    if (shard.file == nullptr) shard.file = std::make_shared<NoBytes>(cell + 1);
    return shard;
  }

  void bring(std::uint64_t cell, const std::vector<ByteRange>& ranges) {
    Shard& shard = shard_of(cell);
    std::vector<ByteRange> wanted;  // what is kept is not asked for again
    for (const ByteRange& range : ranges) {
      bool missing = false;
      const std::uint64_t end = std::min(kEntries, (range.offset + range.length) / kChunk);
      for (std::uint64_t entry = range.offset / kChunk; entry < end; ++entry) {
        ++shard.brought[entry];
        missing = missing || !shard.kept[entry];
        shard.kept[entry] = true;
      }
      if (missing) wanted.push_back(range);
    }
    requests_ += join_ranges(std::move(wanted), kWindow).size();
  }

  /// As the index of the shard answers.
  void answer(const FarAsk& ask) {
    FarFound found;
    found.size = kEntries * kChunk;
    const Coordinates cell = coordinates_of(ask.cell, layout_.grid().counts());
    for (std::uint64_t number = 0; number < kEntries; ++number) {
      ChunkPlace place;
      place.cell = cell;
      place.entries = {number};
      place.number = number;
      if (ask.skip[number] || !ask.box.has(*layout_.chunk_at(place))) continue;
      found.all = (found.entries.size() + 1) * kChunk <= ask.most || found.entries.empty();
      if (!found.all) break;
      found.entries.emplace_back(number, ByteRange{number * kChunk, kChunk});
    }
    bring(ask.cell, walk_.take(ask, found));
  }

  std::map<std::uint64_t, Shard> shards_;
};

TEST_F(FarWalkTest, OneChunkAsksForNothing) {
  read({3, 4, 5});
  EXPECT_EQ(brought(), 1U);
  EXPECT_EQ(opened_ahead_, 0U);
}

TEST_F(FarWalkTest, ChunksHereAndThereAskForLittle) {
  std::mt19937_64 chance(7);
  const auto draw = [&] { return chance() % kEdge; };
  for (int i = 0; i < 300; ++i) read({draw(), draw(), draw()});
  EXPECT_LE(brought(), 300U * 11 / 10);
}

TEST_F(FarWalkTest, ARowIsBroughtOnce) {
  read(ChunkBox{{3, 4, 0}, {3, 4, kEdge - 1}});
  EXPECT_EQ(brought(), kEdge);
  EXPECT_EQ(brought(2), 0U);
}

TEST_F(FarWalkTest, APlaneBringsNothingElse) {
  read(ChunkBox{{8, 0, 0}, {8, kEdge - 1, kEdge - 1}});
  EXPECT_EQ(brought(), kEdge * kEdge);
  EXPECT_EQ(brought(2), 0U);
}

TEST_F(FarWalkTest, APlaneAcrossTheRowsBringsNothingElse) {
  read(ChunkBox{{0, 0, 8}, {kEdge - 1, kEdge - 1, 8}});
  EXPECT_EQ(brought(), kEdge * kEdge);
  EXPECT_EQ(brought(2), 0U);
}

TEST_F(FarWalkTest, AllIsBroughtOnce) {
  read(ChunkBox{{0, 0, 0}, {kEdge - 1, kEdge - 1, kEdge - 1}});
  EXPECT_EQ(brought(), kEdge * kEdge * kEdge);
  EXPECT_EQ(brought(2), 0U);
  EXPECT_GE(opened_ahead_, 40U) << "of 64 shards";
}

TEST_F(FarWalkTest, WithoutRoomNothingIsAskedForInAdvance) {
  room_ = 0;
  read(ChunkBox{{0, 0, 0}, {0, 3, kEdge - 1}});
  EXPECT_EQ(brought(), 4 * kEdge);
}

TEST_F(FarWalkTest, WhatIsReadAgainAsksForNothing) {
  const ChunkBox plane{{8, 0, 0}, {8, kEdge - 1, kEdge - 1}};
  read(plane);
  const std::uint64_t requests = requests_;
  read(plane);
  EXPECT_EQ(requests_, requests);
  EXPECT_EQ(brought(), kEdge * kEdge);
}

TEST_F(FarWalkTest, WhatIsKeptNoLongerIsReadAgainInAsFewRequests) {
  const ChunkBox all{{0, 0, 0}, {kEdge - 1, kEdge - 1, kEdge - 1}};
  read(all);
  const std::uint64_t requests = requests_;
  EXPECT_LE(requests, 200U) << "of 4096 chunks";
  for (int i = 0; i < 2; ++i) {
    empty_cache();
    requests_ = 0;
    read(all);
    EXPECT_LE(requests_, 2 * requests);
  }
}

TEST_F(FarWalkTest, ChunksThatAreOpenedTwiceByManyReadersAreOneReading) {
  constexpr std::uint64_t kReaders = 16;
  for (std::uint64_t plane = 0; plane < 4; ++plane) {
    for (std::uint64_t row = 0; row < kEdge; ++row) {
      for (int twice = 0; twice < 2; ++twice) {
        for (std::uint64_t at = 0; at < kReaders; ++at) read({plane, row, at});
      }
    }
  }
  EXPECT_EQ(brought(2), 0U);
}

TEST_F(FarWalkTest, AnotherSweepLeavesTheOldOne) {
  read(ChunkBox{{0, 0, 0}, {1, kEdge - 1, kEdge - 1}});
  const std::uint64_t before = brought();
  read({15, 15, 0});
  read({15, 15, 1});
  read({15, 15, 2});
  EXPECT_LE(brought(), before + kEdge);
}

}  // namespace
}  // namespace zarrfs
