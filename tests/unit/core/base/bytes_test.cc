#include "core/base/bytes.h"

#include <gtest/gtest.h>

#include <string_view>

namespace zarrfs {
namespace {

TEST(Bytes, RangeWithinDoesNotWrap) {
  EXPECT_TRUE(lies_within({0, 8}, 8));
  EXPECT_TRUE(lies_within({8, 0}, 8));
  EXPECT_FALSE(lies_within({1, 8}, 8));
  EXPECT_FALSE(lies_within({~std::uint64_t{0}, 2}, 8));
  EXPECT_FALSE(lies_within({2, ~std::uint64_t{0}}, 8));
}

TEST(Bytes, CheckedArithmeticFindsOverflow) {
  EXPECT_EQ(checked_multiply(1ULL << 32U, 1ULL << 31U), 1ULL << 63U);
  EXPECT_FALSE(checked_multiply(1ULL << 32U, 1ULL << 32U));
  EXPECT_FALSE(checked_add(~0ULL, 1));
  const std::uint64_t numbers[] = {3, 0, 5};
  EXPECT_EQ(checked_product(numbers), 0U);
  EXPECT_EQ(checked_product({}), 1U);
}

TEST(Bytes, Crc32cIsTheStandardOne) {
  constexpr std::string_view kText = "123456789";
  const ByteView view(reinterpret_cast<const std::uint8_t*>(kText.data()), kText.size());
  EXPECT_EQ(crc32c(view), 0xE3069283U);
  EXPECT_EQ(crc32c(view.subspan(4), crc32c(view.first(4))), 0xE3069283U);
}

TEST(Bytes, SwapItemsReversesEach) {
  Bytes bytes = {1, 2, 3, 4};
  swap_items(bytes, 2);
  EXPECT_EQ(bytes, (Bytes{2, 1, 4, 3}));
}

}  // namespace
}  // namespace zarrfs
