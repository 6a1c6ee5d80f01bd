#include "core/zarr/shard_form.h"

#include <gmock/gmock.h>

namespace zarrfs {
namespace {

using Shape = std::vector<std::uint64_t>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Shape> choose(const ShardForm& form, const Shape& shape, const Shape& chunk) {
  return choose_shard_shape(form, shape, chunk, 4);
}

TEST(ChooseShardShape, RoundsElementsUpToWholeChunks) {
  EXPECT_THAT(*choose({.shape = {10, 12}}, {100, 100}, {4, 6}), ElementsAre(12, 12));
}

TEST(ChooseShardShape, TakesOneNumberForEveryAxis) {
  EXPECT_THAT(*choose({.chunks = {3}}, {100, 100}, {4, 6}), ElementsAre(12, 18));
}

TEST(ChooseShardShape, RefusesAListOfAnotherRank) {
  const auto chosen = choose({.shape = {10, 12}}, {100}, {4});
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().message, HasSubstr("rank is 1"));
}

TEST(ChooseShardShape, RefusesMoreChunksThanAnIndexMayHave) {
  EXPECT_FALSE(choose({.chunks = {4096}}, {1, 1}, {1, 1}));
  EXPECT_FALSE(choose({.chunks = {std::uint64_t{1} << 63U}}, {1, 1}, {4, 4}));
}

TEST(ChooseShardShape, FillsBytesEvenlyAndStaysWithin) {
  const auto chosen = choose({.bytes = 4096}, {1000, 1000}, {8, 8});
  EXPECT_THAT(*chosen, ElementsAre(32, 32));
}

TEST(ChooseShardShape, GrowsNoAxisBeyondTheArray) {
  EXPECT_THAT(*choose({.bytes = std::uint64_t{1} << 20U}, {3, 64}, {1, 8}), ElementsAre(4, 64));
}

TEST(ChooseShardShape, KeepsOneChunkWhereEvenThatIsLarger) {
  EXPECT_THAT(*choose({.bytes = 10}, {100, 100}, {8, 8}), ElementsAre(8, 8));
}

}  // namespace
}  // namespace zarrfs
