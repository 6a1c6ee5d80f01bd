// Memory for decoding: bounded, whatever a store says.
#include "core/codecs/decoding_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/base/json.h"
#include "core/codecs/codec.h"
#include "core/files/decoded_chunks.h"

namespace zarrfs {
namespace {

class DecodingRoomTest : public ::testing::Test {
 protected:
  DecodingRoomTest() : before_(decoding_memory()) { set_decoding_memory(1000); }
  ~DecodingRoomTest() override { set_decoding_memory(before_); }

 private:
  const std::uint64_t before_;
};

TEST_F(DecodingRoomTest, MoreThanThereIsIsRefused) {
  EXPECT_TRUE(DecodingRoom::take(1000));
  const auto refused = DecodingRoom::take(1001);
  EXPECT_EQ(refused.error().fault, Fault::kNoMemory);
  EXPECT_NE(refused.error().message.find("1001"), std::string::npos);
}

TEST_F(DecodingRoomTest, ARoomHoldsOtherRoomsOfItsThread) {
  const auto room = DecodingRoom::take(600);
  ASSERT_TRUE(room);
  EXPECT_TRUE(DecodingRoom::take(600)) << "within it";
  const auto within = DecodingRoom::take(400);
  EXPECT_TRUE(DecodingRoom::take(600)) << "what it lacks is left over";
  EXPECT_FALSE(DecodingRoom::take(601));
}

TEST_F(DecodingRoomTest, ThreadsWaitForRoom) {
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto room = DecodingRoom::take(400);
        const std::uint64_t now = taken += 400;
        std::uint64_t before = most;
        while (now > before && !most.compare_exchange_weak(before, now)) {
        }
        std::this_thread::yield();
        taken -= 400;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, 1000U);
}

TEST_F(DecodingRoomTest, AChunkThatIsTooLargeToDecodeIsRefusedBeforeItIsRead) {
  DataType type;
  type.name = "uint8";
  type.size = 1;
  const auto chain = CodecChain::make({{"bytes", Json::object()}}, {type, {2000}});
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ(chain->decode(Bytes(2000)).error().fault, Fault::kNoMemory);
}

DecodedChunks::Pointer bytes_of(std::size_t size) { return std::make_shared<const Bytes>(size); }

TEST(DecodedChunksTest, KeepsWhatWasReadLastWithinItsBound) {
  DecodedChunks chunks(100);
  chunks.keep(1, bytes_of(40));
  chunks.keep(2, bytes_of(40));
  EXPECT_NE(chunks.find(1), nullptr);
  chunks.keep(3, bytes_of(40));
  EXPECT_EQ(chunks.find(2), nullptr);
  EXPECT_NE(chunks.find(1), nullptr);
  chunks.keep(4, bytes_of(101));
  EXPECT_EQ(chunks.find(4), nullptr);
  EXPECT_EQ(chunks.bytes(), 80U);
  chunks.drop(1);
  chunks.drop(1);
  EXPECT_EQ(chunks.bytes(), 40U);
}

TEST(DecodedChunksTest, AnOpenedFileDecodesAgainWhatHadToGo) {
  const auto chunks = std::make_shared<DecodedChunks>(100);
  int decoded = 0;
  const auto decode = [&]() -> Result<DecodedChunks::Pointer> {
    ++decoded;
    return bytes_of(60);
  };
  DecodedFile first(chunks, bytes_of(60), decode);
  EXPECT_EQ(first.read(50, 100)->bytes.size(), 10U);
  EXPECT_EQ(decoded, 0);
  {
    DecodedFile second(chunks, bytes_of(60), decode);
    EXPECT_EQ(first.read(0, 100)->bytes.size(), 60U);
    EXPECT_EQ(decoded, 1);
    EXPECT_EQ(chunks->bytes(), 60U);
  }
  EXPECT_EQ(first.read(0, 100)->bytes.size(), 60U);
  EXPECT_EQ(chunks->bytes(), 60U);
}

}  // namespace
}  // namespace zarrfs
