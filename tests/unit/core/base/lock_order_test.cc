#include "core/base/lock_order.h"

#include <gtest/gtest.h>

#include <mutex>

namespace zarrfs {
namespace {

RankedMutex<LockRank::kShard> shard;
RankedMutex<LockRank::kShard> next_shard;
RankedMutex<LockRank::kLog> log_lock;
TableMutex table;

TEST(LockOrderDeathTest, ALockOfAnEarlierRankIsRefused) {
  const std::lock_guard outer(log_lock);
  EXPECT_DEATH(shard.lock(), "is held and one of rank");
}

TEST(LockOrderDeathTest, ALockOfTheSameRankIsRefusedUnlessItIsChained) {
  const HeldLock outer(shard);
  EXPECT_DEATH(next_shard.lock(), "is held and one of rank");
  const ChainedLock inner(next_shard);
}

TEST(LockOrderDeathTest, ATableIsTheLastOne) {
  const HeldLock inner(table);
  EXPECT_DEATH(log_lock.lock(), "is held and one of rank");
}

TEST(LockOrderDeathTest, WhatIsLetGoIsHeldNoMore) {
  HeldLock lock(log_lock);
  lock.unlock();
  { const HeldLock earlier(shard); }
  lock.lock();
  EXPECT_DEATH(shard.lock(), "is held and one of rank");
}

}  // namespace
}  // namespace zarrfs
