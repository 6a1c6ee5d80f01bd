// Tools that change a store keep away while chunks of it wait somewhere else.
#include "tools/shared/exclusive_writer.h"

#include <gtest/gtest.h>

#include "tests/support/store_maker.h"

namespace zarrfs::tools {
namespace {

TEST(ExclusiveWriter, ChunksThatWaitForTheirArrayAreNotPublished) {
  test::StoreMaker maker;
  maker.group("").array("a");
  EXPECT_TRUE(check_published(maker.root()));
  EXPECT_TRUE(lock_exclusively(maker.root()));
  maker.text(".zarrfs/early", R"(["a"])");  // a mount was killed before it was finished with them
  const auto published = check_published(maker.root());
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().fault, Fault::kBusy);
  EXPECT_FALSE(lock_exclusively(maker.root()));
}

}  // namespace
}  // namespace zarrfs::tools
