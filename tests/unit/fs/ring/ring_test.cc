// What can be tried of FUSE over io_uring without the kernel that speaks it; tests/vm has the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fs/ring/ring_entry.h"
#include "fs/ring/ring_layout.h"
#include "fs/ring/ring_places.h"
#include "fs/ring/ring_plan.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

template <class T>
void put(std::array<char, 128>& where, const T& value) {
  std::memcpy(where.data(), &value, sizeof value);
}

template <class T>
T at(const char* where) {
  T value;
  std::memcpy(&value, where, sizeof value);
  return value;
}

/// Memory as an entry has it: room before the payload.
class RingLayout : public ::testing::Test {
 protected:
  void request(std::size_t argument, std::size_t payload) {
    fuse_in_header common{};
    common.len = static_cast<std::uint32_t>(sizeof common + argument + payload);
    common.unique = 4711;
    put(header_.common, common);
    header_.payload_size = static_cast<std::uint32_t>(payload);
  }
  std::span<char> payload() { return std::span(memory_).subspan(4096); }

  RingHeader header_{};
  std::vector<char> memory_ = std::vector<char>(4096 + 100, '-');
};

TEST_F(RingLayout, ARequestIsGatheredBeforeItsPayload) {
  request(16, 5);
  header_.operation.fill('a');
  std::memcpy(payload().data(), "bytes", 5);
  const auto message = gather(header_, payload());
  ASSERT_TRUE(message);
  ASSERT_EQ(message->size(), sizeof(fuse_in_header) + 16 + 5);
  EXPECT_EQ(at<fuse_in_header>(message->data()).unique, 4711U);
  EXPECT_EQ(std::string(message->data() + sizeof(fuse_in_header), 21),
            std::string(16, 'a') + "bytes");
  EXPECT_EQ(message->data() + message->size(), payload().data() + 5) << "the payload stays";
}

TEST_F(RingLayout, ARequestWithoutArgumentOrPayload) {
  request(0, 0);
  const auto message = gather(header_, payload());
  ASSERT_TRUE(message);
  EXPECT_EQ(message->size(), sizeof(fuse_in_header));
}

TEST_F(RingLayout, SizesThatContradictEachOtherAreNoRequest) {
  request(129, 0);
  EXPECT_FALSE(gather(header_, payload())) << "an argument longer than its place";
  request(0, 101);
  EXPECT_FALSE(gather(header_, payload())) << "a payload longer than its place";
  request(0, 0);
  header_.payload_size = 1;
  EXPECT_FALSE(gather(header_, payload())) << "shorter than its parts";
}

TEST_F(RingLayout, AnAnswerIsPutIntoItsPlaces) {
  fuse_out_header common{};
  common.unique = 4711;
  common.len = sizeof common + 7;
  std::string first = "abc";
  std::string second = "defg";
  const std::vector<iovec> parts = {
      {&common, sizeof common}, {first.data(), 3}, {nullptr, 0}, {second.data(), 4}};
  EXPECT_EQ(scatter(parts, header_, payload()), common.len);
  EXPECT_EQ(at<fuse_out_header>(header_.common.data()).len, common.len);
  EXPECT_EQ(header_.payload_size, 7U);
  EXPECT_EQ(std::string(payload().data(), 8), "abcdefg-");
}

TEST_F(RingLayout, AnAnswerThatWasMadeInPlaceStays) {
  fuse_out_header common{};
  common.len = sizeof common + 4;
  std::memcpy(payload().data(), "here", 4);
  const std::vector<iovec> parts = {{&common, sizeof common}, {payload().data(), 4}};
  scatter(parts, header_, payload());
  EXPECT_EQ(header_.payload_size, 4U);
  EXPECT_EQ(std::string(payload().data(), 5), "here-");
}

TEST_F(RingLayout, AnAnswerThatDoesNotFitIsAnError) {
  fuse_out_header common{};
  common.len = sizeof common + 101;
  std::string body(101, 'x');
  const std::vector<iovec> parts = {{&common, sizeof common}, {body.data(), body.size()}};
  scatter(parts, header_, payload());
  EXPECT_EQ(at<fuse_out_header>(header_.common.data()).error, -EIO);
  EXPECT_EQ(at<fuse_out_header>(header_.common.data()).len, sizeof common);
  EXPECT_EQ(header_.payload_size, 0U);
}

TEST(RingInit, OffersAreReadAndTaken) {
  struct {
    fuse_in_header header;
    fuse_init_in body;
  } request{};
  const std::span<const char> bytes(reinterpret_cast<const char*>(&request), sizeof request);
  request.body.flags2 = 1U << 9U;
  EXPECT_FALSE(offers_ring(bytes)) << "flags2 counts only with FUSE_INIT_EXT";
  request.body.flags = FUSE_INIT_EXT;
  EXPECT_TRUE(offers_ring(bytes));
  EXPECT_FALSE(offers_ring(bytes.first(sizeof(fuse_in_header) + 16))) << "an old kernel's";
  request.body.flags2 = 1U << 8U;
  EXPECT_FALSE(offers_ring(bytes));

  fuse_init_out answer{};
  answer.flags = FUSE_ASYNC_READ;
  take_ring(answer);
  EXPECT_EQ(answer.flags, FUSE_ASYNC_READ | static_cast<std::uint32_t>(FUSE_INIT_EXT));
  EXPECT_EQ(answer.flags2, 1U << 9U);
}

TEST(RingEntryTest, AnAnswerIsGivenOnce) {
  auto entry = RingEntry::make(8192);
  ASSERT_TRUE(entry);
  auto& header = *static_cast<RingHeader*>((*entry)->parts()[0].iov_base);
  fuse_in_header request{};
  request.len = sizeof request;
  request.unique = 12;
  put(header.common, request);
  header.commit_id = 12;
  EXPECT_FALSE((*entry)->claim(12)) << "before it came";
  ASSERT_TRUE((*entry)->arrived());
  EXPECT_EQ((*entry)->commit_id(), 12U);
  EXPECT_FALSE((*entry)->claim(14));
  EXPECT_TRUE((*entry)->claim(12));
  EXPECT_FALSE((*entry)->claim(12));
}

TEST(RingEntryTest, HasRoomForAnAnswerWhereTheRequestHasNoBytes) {
  auto entry = RingEntry::make(8192);
  ASSERT_TRUE(entry);
  const auto& parts = (*entry)->parts();
  auto& header = *static_cast<RingHeader*>(parts[0].iov_base);
  EXPECT_EQ((*entry)->room(100).data(), parts[1].iov_base);
  EXPECT_EQ((*entry)->room(8192).size(), 8192U);
  EXPECT_TRUE((*entry)->room(8193).empty());
  header.payload_size = 1;
  EXPECT_TRUE((*entry)->room(100).empty());
}

TEST(RingPlanTest, TheMemoryIsBounded) {
  const std::size_t payload = std::size_t{1} << 20U;
  EXPECT_EQ(plan_ring(2, {8}, payload)->threads, 8 + kRingReserve);
  EXPECT_EQ(plan_ring(2, {1}, payload)->threads, 2 + kRingReserve) << "one may wait for a disk";
  EXPECT_EQ(plan_ring(64, {8}, payload)->threads, 4U) << "as many as fit";
  EXPECT_EQ(plan_ring(128, {8}, payload)->threads, 2U);
  const auto none = plan_ring(129, {8}, payload);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("129 processors would take more than 256 MiB"));
}

TEST(RingPlanTest, RequestsThatWaitLeaveThreadsToOthers) {
  const std::size_t payload = std::size_t{1} << 20U;
  EXPECT_EQ(plan_ring(2, {8}, payload)->may_wait, kRingReserve);
  for (unsigned queues = 1; queues <= 128; ++queues) {
    const auto plan = plan_ring(queues, {8}, payload);
    EXPECT_GE(plan->may_wait, 1U) << queues;
    EXPECT_LE(plan->may_wait, std::max(kRingReserve, plan->threads / 2)) << queues;
    EXPECT_LT(plan->may_wait, plan->threads) << queues;
  }
}

TEST(RingPlanTest, WithFewerThreadsThanTheLeastThereIsNoRing) {
  const std::size_t payload = std::size_t{1} << 20U;
  EXPECT_TRUE(plan_ring(4, {64, 64}, payload));
  EXPECT_FALSE(plan_ring(5, {64, 64}, payload));
}

TEST(RingPlacesTest, AreTakenAndGivenBack) {
  RingPlaces places(2);
  EXPECT_TRUE(places.take());
  EXPECT_TRUE(places.take());
  EXPECT_FALSE(places.take());
  EXPECT_FALSE(places.take());
  places.give_back();
  EXPECT_TRUE(places.take());
  EXPECT_FALSE(places.take());
}

TEST(RingPlanTest, AnEntryHoldsTheLargestRequest) {
  fuse_init_out answer{};
  answer.max_write = 4096;
  EXPECT_EQ(ring_payload(answer, 4096), 8192U);
  answer.max_write = 100'000;
  EXPECT_EQ(ring_payload(answer, 4096), 100'000U);
  answer.max_pages = 256;
  EXPECT_EQ(ring_payload(answer, 4096), std::size_t{1} << 20U);
}

TEST(RingPlanTest, ProcessorsAreCounted) {
  EXPECT_EQ(*count_processors("0"), 1U);
  EXPECT_EQ(*count_processors("0-3"), 4U);
  EXPECT_EQ(*count_processors("0-3,8,10-11"), 7U);
  for (const char* text : {"", "x", "3-1", "0-", "0,", "-1", "0-99999999999"}) {
    EXPECT_FALSE(count_processors(text)) << text;
  }
  ASSERT_TRUE(possible_processors());
  EXPECT_GE(*possible_processors(), 1U);
}

TEST(RingPlanTest, WhatTheKernelHasIsTold) {
  const TempDir root;
  EXPECT_EQ(ring_offer(root.path()), RingOffer::kNone);
  EXPECT_THAT(check_ring(root.path()).error().message, HasSubstr("Linux 6.14"));
  const auto folder = std::filesystem::path(root.path()) / "sys/module/fuse/parameters";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "enable_uring") << "N\n";
  EXPECT_EQ(ring_offer(root.path()), RingOffer::kUnset);
  EXPECT_THAT(check_ring(root.path()).error().message, HasSubstr("echo Y > /sys/module/fuse"));
  std::ofstream(folder / "enable_uring") << "Y\n";
  EXPECT_EQ(ring_offer(root.path()), RingOffer::kSet);
  EXPECT_TRUE(check_ring(root.path()));
}

}  // namespace
}  // namespace zarrfs
