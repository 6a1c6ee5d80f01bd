// A view of a store on disk that lends names and tells of changes. For tests of that.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "core/store/store_watch.h"
#include "core/vfs/open_view.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {

class LendingViewTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (view) view->end_lending();
  }
  /// Of `maker`'s store. At `most` directories are watched.
  void open(std::size_t most = StoreWatch::kMostDirectories) {
    auto store = open_store(maker.root(), LinkPolicy::kInside);
    ASSERT_TRUE(store);
    auto opened = open_view(std::move(*store), {});
    ASSERT_TRUE(opened) << opened.error().message;
    view = std::move(*opened);
    auto watch = StoreWatch::of(maker.root(), most);
    ASSERT_TRUE(watch);
    ASSERT_TRUE(view->lend_names(std::move(*watch), [this](NodeId node) { recall(node); }));
  }
  /// The kernel would be told. Called by another thread.
  virtual void recall(NodeId /*node*/) {}

  StoreMaker maker;
  std::unique_ptr<View> view;
};

}  // namespace zarrfs::test
