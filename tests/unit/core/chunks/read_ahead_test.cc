// What is asked of the kernel in advance when the chunks of a shard are opened.
#include "core/chunks/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

namespace {
struct Advice {
  int descriptor;
  std::uint64_t offset;
  std::uint64_t length;
  int kind;
  bool operator==(const Advice&) const = default;
};
std::vector<Advice>* given = nullptr;
}  // namespace

// Takes the place of the C library's, in this test program.
extern "C" int posix_fadvise(int descriptor, off_t offset, off_t length, int kind) noexcept {
  if (given != nullptr) {
    given->push_back(
        {descriptor, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(length), kind});
  }
  return 0;
}

namespace zarrfs {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = kKiB * kKiB;
constexpr std::uint64_t kShardSize = 10000;
constexpr int kDescriptor = 77;

class FileOfSize final : public File {
 public:
  FileOfSize(std::uint64_t size, int descriptor) : descriptor_(descriptor) {
    status_.st_size = static_cast<off_t>(size);
  }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t /*offset*/, MutableByteView /*out*/) const override {
    return 0;
  }
  [[nodiscard]] int descriptor() const override { return descriptor_; }
  void fetch(ByteRange range) const override {
    static_cast<void>(::posix_fadvise(descriptor_, static_cast<off_t>(range.offset),
                                      static_cast<off_t>(range.length), POSIX_FADV_WILLNEED));
  }

 private:
  struct stat status_ {};
  int descriptor_;
};

class ReadAheadTest : public ::testing::Test {
 protected:
  ReadAheadTest() { given = &advice_; }
  ~ReadAheadTest() override { given = nullptr; }

  static ChunkBytes chunk(std::uint64_t offset, std::uint64_t length = 100, std::uint64_t inode = 1,
                          int descriptor = kDescriptor) {
    ChunkBytes bytes;
    bytes.file = std::make_shared<FileOfSize>(kShardSize, descriptor);
    bytes.range = {offset, length};
    bytes.shard_status.st_ino = inode;
    return bytes;
  }
  /// Opens `count` chunks of 100 bytes that lie one behind the other.
  static void walk(ReadAhead& ahead, std::uint64_t offset, int count, std::uint64_t inode = 1) {
    for (int i = 0; i < count; ++i) {
      ahead.opened(chunk(offset + static_cast<std::uint64_t>(i) * 100, 100, inode));
    }
  }
  static Advice wanted(std::uint64_t offset, std::uint64_t length) {
    return {kDescriptor, offset, length, POSIX_FADV_WILLNEED};
  }
  std::vector<Advice> advice_;
};

TEST_F(ReadAheadTest, ThirdChunkInARowAsksForTheWindowBehindIt) {
  ReadAhead ahead(1000);
  walk(ahead, 0, 2);
  EXPECT_TRUE(advice_.empty());
  walk(ahead, 200, 1);
  EXPECT_EQ(advice_, (std::vector{wanted(300, 1000)}));
}

TEST_F(ReadAheadTest, WalkThatStartsWithinAShardIsNoticedToo) {
  ReadAhead ahead(1000);
  walk(ahead, 5000, 3);
  EXPECT_TRUE(advice_.empty()) << "the first chunk follows nothing";
  walk(ahead, 5300, 1);
  EXPECT_EQ(advice_, (std::vector{wanted(5400, 1000)}));
}

TEST_F(ReadAheadTest, NoByteIsAskedForTwiceAndHalfAWindowStaysAhead) {
  ReadAhead ahead(1000);
  walk(ahead, 0, 40);
  ASSERT_GT(advice_.size(), 2U);
  std::uint64_t end = 300;
  for (const Advice& one : advice_) {
    EXPECT_EQ(one.offset, end);
    EXPECT_GE(one.length, 500U) << "small requests cost more than they bring";
    end = one.offset + one.length;
  }
  EXPECT_GE(end, 4000U + 500U);
  EXPECT_LE(end, 4000U + 1000U);
}

TEST_F(ReadAheadTest, NothingIsAskedForBehindTheEndOfTheShard) {
  ReadAhead ahead(100000);
  walk(ahead, 0, 100);
  EXPECT_EQ(advice_, (std::vector{wanted(300, kShardSize - 300)}));
}

TEST_F(ReadAheadTest, SmallGapsAreCrossedAndLargeOnesAreNot) {
  ReadAhead small(1000);
  for (const std::uint64_t offset : {0, 150, 300}) small.opened(chunk(offset));
  EXPECT_EQ(advice_.size(), 1U);
  advice_.clear();
  ReadAhead large(1000);
  for (const std::uint64_t offset : {0, 250, 500, 750, 1000}) large.opened(chunk(offset));
  EXPECT_TRUE(advice_.empty());
}

TEST_F(ReadAheadTest, ReadingBackwardsOrTheSameAgainAsksForNothing) {
  ReadAhead ahead(1000);
  for (std::uint64_t offset = 5000; offset > 3000; offset -= 100) ahead.opened(chunk(offset));
  for (int i = 0; i < 10; ++i) ahead.opened(chunk(100));
  EXPECT_TRUE(advice_.empty());
}

TEST_F(ReadAheadTest, AJumpStartsAnew) {
  ReadAhead ahead(1000);
  walk(ahead, 0, 3);
  walk(ahead, 8000, 3);
  EXPECT_EQ(advice_.size(), 1U);
  walk(ahead, 0, 4);
  EXPECT_EQ(advice_, (std::vector{wanted(300, 1000), wanted(400, 1000)}));
}

TEST_F(ReadAheadTest, ShardsReadInTurnAreToldApart) {
  ReadAhead ahead(1000);
  for (std::uint64_t offset = 0; offset < 300; offset += 100) {
    ahead.opened(chunk(offset, 100, 1));
    ahead.opened(chunk(offset, 100, 2, kDescriptor + 1));
  }
  ASSERT_EQ(advice_.size(), 2U);
  EXPECT_EQ(advice_[0].descriptor, kDescriptor);
  EXPECT_EQ(advice_[1].descriptor, kDescriptor + 1);
}

TEST_F(ReadAheadTest, VeryManyShardsDoNotStopIt) {
  ReadAhead ahead(1000);
  for (std::uint64_t inode = 1; inode <= 1000; ++inode) walk(ahead, 0, 3, inode);
  EXPECT_EQ(advice_.size(), 1000U);
}

/// Chunks of 64 KiB: blocks are of 1 MiB.
class ReadAheadBlocks : public ReadAheadTest {
 protected:
  void open(std::uint64_t number, std::uint64_t length = 64 * kKiB) {
    ChunkBytes bytes = chunk(number * 64 * kKiB, length);
    bytes.file = std::make_shared<FileOfSize>(kSize, kDescriptor);
    ahead_.opened(bytes);
  }
  static constexpr std::uint64_t kSize = 10 * kMiB + 200 * kKiB;
  ReadAhead ahead_{8 * kMiB};
};

TEST_F(ReadAheadBlocks, SecondChunkOfABlockInWhateverOrderAsksForTheBlock) {
  open(39);
  open(70);
  EXPECT_TRUE(advice_.empty());
  open(33);
  EXPECT_EQ(advice_, (std::vector{wanted(2 * kMiB, kMiB)}));
}

TEST_F(ReadAheadBlocks, ABlockIsAskedForOnce) {
  for (const std::uint64_t number : {39, 33, 36, 32, 45, 40, 43}) open(number);
  EXPECT_EQ(advice_, (std::vector{wanted(2 * kMiB, kMiB)}));
}

TEST_F(ReadAheadBlocks, TheSameChunkAgainDoesNotCount) {
  for (int i = 0; i < 10; ++i) open(39);
  EXPECT_TRUE(advice_.empty());
}

TEST_F(ReadAheadBlocks, ScatteredChunksAskForNothing) {
  for (const std::uint64_t number : {144, 0, 80, 32, 112, 64, 16, 96, 128}) open(number);
  EXPECT_TRUE(advice_.empty());
}

TEST_F(ReadAheadBlocks, TheLastBlockEndsWithTheShard) {
  open(161);
  open(160);
  EXPECT_EQ(advice_, (std::vector{wanted(10 * kMiB, 200 * kKiB)}));
}

TEST_F(ReadAheadBlocks, ManySmallChunksMustBeOpenedBeforeABlockIsFetched) {
  for (std::uint64_t number = 40; number > 34; number -= 2) open(number, 10 * kKiB);
  EXPECT_TRUE(advice_.empty()) << "20 KiB of a block of 256 KiB";
}

TEST_F(ReadAheadBlocks, LargeChunksAreNotFetchedInAdvance) {
  open(80, 5 * kMiB);
  open(0, 5 * kMiB);
  EXPECT_TRUE(advice_.empty());
}

TEST_F(ReadAheadTest, NothingIsAskedForWithoutWindowOrFile) {
  ReadAhead none(0);
  walk(none, 0, 10);
  ReadAhead ahead(1000);
  for (std::uint64_t offset = 0; offset < 1000; offset += 100) {
    ChunkBytes in_memory = chunk(offset);
    in_memory.file = nullptr;
    ahead.opened(in_memory);
  }
  EXPECT_TRUE(advice_.empty());
}

}  // namespace
}  // namespace zarrfs
