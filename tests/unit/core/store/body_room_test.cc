#include "core/store/http/body_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace zarrfs {
namespace {

std::shared_ptr<BodyRoom> room_of(std::uint64_t most) { return std::make_shared<BodyRoom>(most); }

TEST(BodyRoom, GivesWhatThereIsAndTakesItBack) {
  const auto room = room_of(100);
  auto first = room->try_take(60);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(room->try_take(50), nullptr);
  auto second = room->try_take(40);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(room->bytes(), 100U);
  first = nullptr;
  EXPECT_EQ(room->bytes(), 40U);
  EXPECT_NE(room->try_take(60), nullptr);
}

TEST(BodyRoom, MoreThanThereIsComesAlone) {
  const auto room = room_of(100);
  auto all = room->try_take(500);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(room->try_take(1), nullptr);
  all = nullptr;
  EXPECT_NE(room->try_take(1), nullptr);
}

TEST(BodyRoom, ABodyBeginsWithNothingWhereAllIsTaken) {
  const auto room = room_of(100);
  const auto all = room->try_take(100);
  const auto begun = room->try_take(0);
  ASSERT_NE(begun, nullptr);
  EXPECT_TRUE(room->grow(begun, 70)) << "as the one that goes beyond";
  const auto next = room->try_take(0);
  ASSERT_NE(next, nullptr);
  EXPECT_FALSE(room->grow(next, 1));
}

TEST(BodyRoom, OneAtATimeGoesBeyondAndItIsTold) {
  const auto room = room_of(100);
  std::vector<std::uint64_t> told;
  room->when_beyond([&](std::uint64_t bytes) { told.push_back(bytes); });
  auto one = room->try_take(50);
  auto other = room->try_take(50);
  EXPECT_TRUE(room->grow(one, 80));
  EXPECT_TRUE(room->grow(one, 300));
  EXPECT_FALSE(room->grow(other, 51));
  EXPECT_EQ(room->bytes(), 350U);
  one = nullptr;
  EXPECT_TRUE(room->grow(other, 90)) << "there is room again";
  EXPECT_TRUE(room->grow(other, 120));
  other = nullptr;
  EXPECT_EQ(told, (std::vector<std::uint64_t>{30, 250, 0, 30, 0}));
  EXPECT_EQ(room->bytes(), 0U);
}

TEST(BodyRoom, WhoWaitsGoesOnWhenRoomIsFree) {
  const auto room = room_of(100);
  std::atomic<int> freed{0};
  room->when_freed([&] { ++freed; });
  auto all = room->try_take(100);
  std::thread waits([&] { EXPECT_NE(room->take(30), nullptr); });
  all = nullptr;
  waits.join();
  EXPECT_EQ(freed, 2);
  room->when_freed(nullptr);
}

}  // namespace
}  // namespace zarrfs
