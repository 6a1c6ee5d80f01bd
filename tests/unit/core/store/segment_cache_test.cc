// What the cache takes stays within its bound, also where it keeps very many small parts.
#include "core/store/cache/segment_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/allocated.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kBound = std::uint64_t{16} << 20U;

std::string version_of(int number) {
  return "store/array/c/0/0/0 \"0123456789abcdef" + std::to_string(number) + "\"";
}

TEST(SegmentCache, ManySmallPartsTakeNoMoreThanTheBound) {
  const std::uint64_t before = allocated();
  SegmentCache cache(kBound);
  for (int i = 0; i < 200000; ++i) {
    const std::string object = version_of(i);
    ASSERT_EQ(cache.begin(object, {0, 16}, 1U << 20U).size(), 1U);
    cache.put(object, 0, Bytes(16, 1));
  }
  EXPECT_LE(cache.bytes(), kBound);
  EXPECT_GT(cache.bytes(), kBound / 2);
  EXPECT_LE(allocated() - before, kBound + (kBound >> 2U));
  Bytes out(16);
  EXPECT_TRUE(cache.read(version_of(199999), 0, out));
  EXPECT_FALSE(cache.read(version_of(0), 0, out));
}

TEST(SegmentCache, APartThatIsKeptDoesNotKeepTheRestOfWhatItCameWith) {
  const std::uint64_t before = allocated();
  SegmentCache cache(kBound);
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
  for (int i = 0; i < 64; ++i) {
    const std::string object = version_of(i);
    cache.put(object, 0, Bytes(kPiece - 4096, 1));
    cache.put(object, 0, Bytes(kPiece, 1));  // all but its end is there already
  }
  EXPECT_LE(allocated() - before, kBound + (kBound >> 2U));
}

}  // namespace
}  // namespace zarrfs
