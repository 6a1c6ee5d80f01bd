// How arrays are shown, as commands are asked for all of a group.
#include "tools/shared/shown.h"

#include <gtest/gtest.h>

#include "tests/support/counting_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::tools {
namespace {

/// Opened files for the presentations of `count` arrays in one group.
int opened_for(int count) {
  test::StoreMaker maker;
  maker.group("");
  for (int i = 0; i < count; ++i) maker.array("a" + std::to_string(i));
  auto source = Source::open(maker.root());
  EXPECT_TRUE(source);
  const auto counting = std::make_shared<CountingStore>(source->store);
  source->store = counting;
  const auto as = ShownAs::choose("v2", "generic");
  EXPECT_TRUE(as);
  for (int i = 0; i < count; ++i) {
    const auto array = find_array(*source, "a" + std::to_string(i));
    EXPECT_TRUE(array && presentation_of(*source, *array, *as));
  }
  return counting->calls().count(StoreCall::kOpen);
}

TEST(ShownAs, TheArraysOfAGroupAreReadOnceForAll) {
  const int few = opened_for(10);
  EXPECT_LE(opened_for(40), 5 * few);
}

}  // namespace
}  // namespace zarrfs::tools
