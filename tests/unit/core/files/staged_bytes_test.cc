#include "core/files/staged_bytes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/store/store.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

TEST(WholeBytes, OfManyFilesAtOnceStayInTheBudget) {
  constexpr std::uint64_t kSize = 1000;
  const TempDir folder;
  const std::shared_ptr<Store> store = std::move(*open_store(folder.path(), LinkPolicy::kInside));
  const auto budget = std::make_shared<StagedBudget>();
  budget->limit = 2 * kSize;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> most{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      StagedBytes bytes(store, budget);
      const Bytes value(kSize, static_cast<std::uint8_t>(i));
      ASSERT_TRUE(bytes.resize(3 * kSize));  // more than the budget: a file
      ASSERT_TRUE(bytes.resize(0));
      ASSERT_TRUE(bytes.write(0, value));
      for (int round = 0; round < 50; ++round) {
        const auto whole = bytes.whole();
        ASSERT_TRUE(whole);
        const std::uint64_t used = budget->used;
        std::uint64_t before = most;
        while (before < used && !most.compare_exchange_weak(before, used)) continue;
        EXPECT_TRUE(std::equal(value.begin(), value.end(), whole->view().begin()));
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, budget->limit);
  EXPECT_EQ(budget->used, 0U);
}

TEST(WholeBytes, OneThatIsLargerThanTheBudgetComesAlone) {
  const TempDir folder;
  const std::shared_ptr<Store> store = std::move(*open_store(folder.path(), LinkPolicy::kInside));
  const auto budget = std::make_shared<StagedBudget>();
  budget->limit = 10;
  StagedBytes large(store, budget);
  StagedBytes other(store, budget);
  ASSERT_TRUE(large.resize(100));
  ASSERT_TRUE(other.resize(100));
  std::thread waits;
  std::atomic<bool> came{false};
  {
    const auto whole = large.whole();
    ASSERT_TRUE(whole);
    EXPECT_EQ(budget->used, 100U);
    waits = std::thread([&] {
      EXPECT_TRUE(other.whole());
      came = true;
    });
    EXPECT_FALSE(came);
  }
  waits.join();
  EXPECT_TRUE(came);
}

}  // namespace
}  // namespace zarrfs
