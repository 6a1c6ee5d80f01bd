// What is asked for in advance of an array that is read in some order: 16 x 16 x 16 chunks of 64
// KiB in shards of 4 x 4 x 4.
#include "core/chunks/far_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
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
constexpr std::uint64_t kRoom = std::uint64_t{127} << 20U;

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

// A server behind a line: each answer waits, then comes with a speed of its own. Times in seconds.
class Line {
 public:
  Line(double delay, double speed, std::size_t connections)
      : delay_(delay), speed_(speed), free_at_(connections, 0) {}
  /// When the answer to what is asked at `now` has come.
  double ask(double now, std::uint64_t bytes) {
    double& connection = *std::min_element(free_at_.begin(), free_at_.end());
    connection = std::max(now, connection) + delay_ + static_cast<double>(bytes) / speed_;
    return connection;
  }

 private:
  double delay_;
  double speed_;
  std::vector<double> free_at_;
};

class FarWalkTest : public ::testing::Test {
 protected:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr double kReader = 0.0004;  // for a chunk that is there

  struct Shard {
    std::shared_ptr<const File> file;
    double index_at = kNever;                               // when it has come
    std::vector<int> brought = std::vector<int>(kEntries);  // how often each entry was
    std::vector<double> come_at = std::vector<double>(kEntries, kNever);
    std::vector<bool> read = std::vector<bool>(kEntries);
  };

  void read(const Coordinates& at) {
    const ChunkPlace place = layout_.place_of(at);
    const std::uint64_t cell = linear_of(place.cell, layout_.grid().counts());
    Shard& shard = shard_of(cell);
    if (shard.index_at == kNever) shard.index_at = ask(kIndex);
    now_ = std::max(now_, shard.index_at);
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
    chunk.range = range_of(place.number);
    const FarPlan plan = walk_->plan(chunk, layout_, room_);
    opened_ahead_ += plan.cells.size();
    if (plan.whole == 0) open_ahead(plan);
    if (plan.range) bring(cell, {*plan.range});
    std::vector<ByteRange> alike;
    for (const std::uint64_t entry : plan.entries) alike.push_back(range_of(entry));
    bring(cell, join_ranges(std::move(alike), plan.most));
    for (const FarAsk& asked : plan.asks) answer(asked);
    if (plan.whole > 0) open_ahead(plan);
    for (FarAsk asked : plan.next) {
      Shard& other = shard_of(asked.cell);
      if (other.index_at > now_) continue;
      asked.file = other.file;
      asked.inode = asked.file->identity().inode;
      answer(asked);
    }
    const std::uint64_t own = chunk.range.offset / kChunk;
    if (shard.come_at[own] == kNever) bring(cell, {chunk.range});
    now_ = std::max(now_, shard.come_at[own]) + kReader;
    if (!shard.read[own]) unread_ -= kChunk;
    shard.read[own] = true;
    most_unread_ = std::max(most_unread_, unread_);
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
    for (auto& [cell, shard] : shards_) {
      shard.index_at = kNever;
      shard.come_at.assign(kEntries, kNever);
    }
  }

  Layout layout_ = layout_of_array();
  std::unique_ptr<FarWalk> walk_ = std::make_unique<FarWalk>(kWindow);
  std::uint64_t room_ = kRoom;
  Line line_{0, 1e18, 1};
  bool in_morton_order_ = false;
  double now_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t opened_ahead_ = 0;
  std::uint64_t unread_ = 0;  // bytes that have come, or are on their way, and were not read
  std::uint64_t most_unread_ = 0;

  std::map<std::uint64_t, Shard> shards_;

 private:
  static constexpr std::uint64_t kIndex = 1028;

  Shard& shard_of(std::uint64_t cell) {
    Shard& shard = shards_[cell];
    if (shard.file == nullptr) shard.file = std::make_shared<NoBytes>(cell + 1);
    return shard;
  }

  double ask(std::uint64_t bytes) {
    ++requests_;
    return line_.ask(now_, bytes);
  }

  /// Where an entry lies.
  [[nodiscard]] ByteRange range_of(std::uint64_t number) const {
    std::uint64_t place = number;
    if (in_morton_order_) {
      place = 0;
      for (unsigned bit = 0; bit < 6; ++bit) {
        place |= ((number >> bit) & 1U) << (bit % 2 * 3 + 2 - bit / 2);
      }
    }
    return {place * kChunk, kChunk};
  }

  /// One request for each range of which something is missing.
  void bring(std::uint64_t cell, const std::vector<ByteRange>& ranges) {
    Shard& shard = shard_of(cell);
    for (const ByteRange& range : ranges) {
      const std::uint64_t begin = range.offset / kChunk;
      const std::uint64_t end = std::min(kEntries, (range.offset + range.length) / kChunk);
      const auto missing = [&](std::uint64_t place) { return shard.come_at[place] == kNever; };
      std::uint64_t first = begin;
      std::uint64_t last = end;
      while (first < end && !missing(first)) ++first;
      while (last > first && !missing(last - 1)) --last;
      if (first == last) continue;
      const double come_at = ask((last - first) * kChunk);
      for (std::uint64_t place = first; place < last; ++place) {
        ++shard.brought[place];
        if (missing(place)) {
          shard.come_at[place] = come_at;
          if (!shard.read[place]) unread_ += kChunk;
        }
      }
    }
  }

  void open_ahead(const FarPlan& plan) {
    for (const std::uint64_t cell : plan.cells) {
      Shard& shard = shard_of(cell);
      if (shard.index_at != kNever) continue;
      if (plan.whole > 0) bring(cell, {{0, kEntries * kChunk}});
      shard.index_at = plan.whole > 0 ? shard.come_at.front() : ask(kIndex);
    }
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
      found.entries.emplace_back(number, range_of(number));
    }
    bring(ask.cell, join_ranges(walk_->take(ask, found), kWindow));
  }
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

TEST_F(FarWalkTest, APlaneAcrossTheRowsBringsSmallGapsBesides) {
  read(ChunkBox{{0, 0, 8}, {kEdge - 1, kEdge - 1, 8}});
  EXPECT_GE(brought(), kEdge * kEdge);
  EXPECT_LE(brought(), kEdge * kEdge * 3 / 2);
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

TEST_F(FarWalkTest, EverySecondChunkIsNoRunOfAll) {
  std::uint64_t chunks = 0;
  Coordinates cell{0, 0, 0};
  const ChunkBox cells{cell, {3, 3, 3}};
  do {
    for (std::uint64_t number = 0; number < kEntries; number += 2, ++chunks) {
      read({4 * cell[0] + number / 16, 4 * cell[1] + number / 4 % 4, 4 * cell[2] + number % 4});
    }
  } while (cells.step(cell));
  EXPECT_LE(brought(2), chunks / 50);
  EXPECT_LE(brought(), chunks * 9 / 5);
}

TEST_F(FarWalkTest, AnotherSweepLeavesTheOldOne) {
  read(ChunkBox{{0, 0, 0}, {1, kEdge - 1, kEdge - 1}});
  const std::uint64_t before = brought();
  read({15, 15, 0});
  read({15, 15, 1});
  read({15, 15, 2});
  EXPECT_LE(brought(), before + kEdge);
}

// The same with a server behind a line, as it is answered. Seconds of it, and requests.
struct Far {
  double delay = 0;  // milliseconds
  bool in_morton_order = false;
};

class FarAwayTest : public FarWalkTest, public ::testing::WithParamInterface<Far> {
 protected:
  static constexpr double kBandwidth = 80e6;  // of a connection
  static constexpr std::size_t kConnections = 48;

  void SetUp() override {
    line_ = Line(delay(), kBandwidth, kConnections);
    in_morton_order_ = GetParam().in_morton_order;
  }
  static double delay() { return GetParam().delay / 1000; }
  /// What it took beside the reader's own time.
  [[nodiscard]] double waited(std::uint64_t chunks) const {
    return now_ - kReader * static_cast<double>(chunks);
  }
};

TEST_P(FarAwayTest, ARowWaitsFourTimes) {
  read(ChunkBox{{3, 4, 0}, {3, 4, kEdge - 1}});
  EXPECT_LE(waited(kEdge), 4 * delay() + 0.02) << "index, first chunk, its row, the other shards";
}

TEST_P(FarAwayTest, APlaneWaitsSevenTimes) {
  read(ChunkBox{{0, 0, 0}, {0, kEdge - 1, kEdge - 1}});
  EXPECT_LE(waited(kEdge * kEdge), 7 * delay() + 0.02);
  EXPECT_LE(requests_, in_morton_order_ ? 105U : 40U);
}

TEST_P(FarAwayTest, BehindTheFirstPlaneLittleShowsOfTheDelay) {
  read(ChunkBox{{0, 0, 0}, {0, kEdge - 1, kEdge - 1}});
  const double first = now_;
  read(ChunkBox{{1, 0, 0}, {kEdge - 1, kEdge - 1, kEdge - 1}});
  const double rest = now_ - first - kReader * static_cast<double>(kEdge * kEdge * (kEdge - 1));
  EXPECT_LE(rest, 3 * delay() + 0.15) << "once when the second plane tells that the rest is read, "
                                         "and where layers of shards begin";
  EXPECT_LE(requests_, in_morton_order_ ? 170U : 105U);
  EXPECT_LE(brought(2), kEdge * kEdge * kEdge / 10);
}

TEST_P(FarAwayTest, OneShardAfterTheOtherTakesARequestForEach) {
  Coordinates cell{0, 0, 0};
  const ChunkBox cells{cell, {3, 3, 3}};
  do {
    const ChunkBox shard{{4 * cell[0], 4 * cell[1], 4 * cell[2]},
                         {4 * cell[0] + 3, 4 * cell[1] + 3, 4 * cell[2] + 3}};
    read(shard);
  } while (cells.step(cell));
  EXPECT_LE(requests_, 110U);
  EXPECT_LE(brought(2), kEdge * kEdge * kEdge / 20);
}

TEST_P(FarAwayTest, WhatEndsWithALayerOfShardsBringsAtMostHalfAsMuchInVain) {
  read(ChunkBox{{0, 0, 0}, {3, kEdge - 1, kEdge - 1}});
  EXPECT_LE(brought(), kEdge * kEdge * 4 * 3 / 2 + 2 * kEntries);
}

TEST_P(FarAwayTest, WhereShardsDoNotFitTheLayersThatComeNextDo) {
  room_ = kEdge * kEdge * kChunk * 5 / 2;  // of layers
  read(ChunkBox{{0, 0, 0}, {0, kEdge - 1, kEdge - 1}});
  const double first = now_;
  read(ChunkBox{{1, 0, 0}, {kEdge - 1, kEdge - 1, kEdge - 1}});
  const double rest = now_ - first - kReader * static_cast<double>(kEdge * kEdge * (kEdge - 1));
  EXPECT_LE(rest, 6 * delay() + 0.3);
  EXPECT_LE(most_unread_, room_ * 3 / 2);
}

INSTANTIATE_TEST_SUITE_P(Delays, FarAwayTest,
                         ::testing::Values(Far{5, false}, Far{5, true}, Far{20, false},
                                           Far{20, true}, Far{100, false}, Far{100, true}));

}  // namespace
}  // namespace zarrfs
