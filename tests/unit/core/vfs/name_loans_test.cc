// Which chunks are lent to the kernel, and when each is recalled.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/support/lending_view.h"

namespace zarrfs::test {
namespace {

using namespace std::chrono_literals;

/// Nodes that were recalled.
class Recalled {
 public:
  void add(NodeId node) {
    const std::lock_guard lock(mutex_);
    nodes_.push_back(node);
    more_.notify_all();
  }
  /// Whether `node` is recalled `times` times within a few seconds.
  bool has(NodeId node, std::ptrdiff_t times) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, 10s,
                          [&] { return std::count(nodes_.begin(), nodes_.end(), node) >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<NodeId> nodes_;
};

class NameLoansTest : public LendingViewTest {
 protected:
  void SetUp() override {
    ArrayPlan plan;
    plan.shape = {8, 8};
    maker.array("", plan)
        .chunk("", {0, 0}, counting_elements(1, 4))
        .chunk("", {1, 1}, counting_elements(9, 4));
  }
  void recall(NodeId node) override { recalled.add(node); }
  InodeEntry find(const std::string& name) {
    const auto found = view->find(kRootNode, name);
    EXPECT_TRUE(found && *found) << name;
    return found && *found ? **found : InodeEntry();
  }

  Recalled recalled;
};

TEST_F(NameLoansTest, AChunkIsLentAndAnAbsentOneAndADirectoryAreNot) {
  open();
  EXPECT_GT(find("0.0").lent, 1s);
  EXPECT_GT(find("1.1").lent, 1s) << "of the same shard";
  EXPECT_GT(view->attributes(find("0.0").id)->lent, 1s);
  EXPECT_EQ(find(".zarray").lent, 0s);
  EXPECT_EQ(find("0").lent, 0s);
  EXPECT_FALSE(*view->find(kRootNode, "0.1"));
}

TEST_F(NameLoansTest, EachChunkOfAChangedShardIsRecalledTwice) {
  open();
  const NodeId first = find("0.0").id;
  const NodeId second = find("1.1").id;
  maker.chunk("", {0, 0}, counting_elements(50, 4));
  EXPECT_TRUE(recalled.has(first, 2)) << "an answer may have been under way";
  EXPECT_TRUE(recalled.has(second, 2));
  const InodeEntry now = find("0.0");
  EXPECT_NE(now.id, first);
  EXPECT_GT(now.lent, 1s) << "the new one is watched in its turn";
}

TEST_F(NameLoansTest, AVersionThatWasSeenBeforeTheChangeWasToldIsRecalledToo) {
  open();
  const NodeId old = find("0.0").id;
  maker.chunk("", {0, 0}, counting_elements(50, 4));
  const InodeEntry now = find("0.0");
  maker.chunk("", {0, 0}, counting_elements(70, 4));
  EXPECT_TRUE(recalled.has(old, 1));
  if (now.lent > 0s) {
    EXPECT_TRUE(recalled.has(now.id, 1));
  }
}

TEST_F(NameLoansTest, WhereNoMoreDirectoriesCanBeWatchedNothingIsLent) {
  open(2);
  EXPECT_EQ(find("0.0").lent, 0s);
  EXPECT_EQ(find("0.0").lent, 0s);
}

}  // namespace
}  // namespace zarrfs::test
