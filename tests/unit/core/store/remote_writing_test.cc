// The parts of writing to a server that need no server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/store/http/listing.h"
#include "core/store/local_store.h"
#include "core/store/remote/part_plan.h"
#include "core/store/remote/upload_notes.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

ObjectPiece copied(std::uint64_t offset, std::uint64_t length) { return {{offset, length}, true}; }
ObjectPiece sent(std::uint64_t offset, std::uint64_t length) { return {{offset, length}, false}; }

TEST(PartPlan, CopiesWhatIsNotNew) {
  EXPECT_THAT(plan_parts(64 * kMiB + 100, {{64 * kMiB, 100}}),
              ElementsAre(copied(0, 64 * kMiB), sent(64 * kMiB, 100)));
  EXPECT_THAT(plan_parts(64 * kMiB, {{0, 10}}),
              ElementsAre(sent(0, 5 * kMiB), copied(5 * kMiB, 59 * kMiB)));
  EXPECT_THAT(plan_parts(20 * kMiB, {{4 * kMiB, 1}}),
              ElementsAre(sent(0, 5 * kMiB), copied(5 * kMiB, 15 * kMiB)));
  EXPECT_THAT(plan_parts(30 * kMiB, {{10 * kMiB, 1}, {19 * kMiB, 1}}),
              ElementsAre(copied(0, 10 * kMiB), sent(10 * kMiB, 9 * kMiB + 1),
                          copied(19 * kMiB + 1, 11 * kMiB - 1)));
  EXPECT_THAT(plan_parts(3, {{0, 3}}), ElementsAre(sent(0, 3)));
}

TEST(PartPlan, CutsWhatIsLong) {
  EXPECT_THAT(
      plan_parts(33 * kMiB, {{0, 33 * kMiB}}),
      ElementsAre(sent(0, 11 * kMiB), sent(11 * kMiB, 11 * kMiB), sent(22 * kMiB, 11 * kMiB)));
  const auto largest = plan_parts(5 * kMiB * kMiB, {{0, 5 * kMiB * kMiB}});
  EXPECT_LE(largest.size(), 10000U);
  EXPECT_LE(largest.front().range.length, 5U << 10U << 20U);
}

TEST(PartPlan, OfAnythingIsWholeAndAllowed) {
  std::minstd_rand random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t size = 1 + random() % (60 * kMiB);
    std::vector<ByteRange> fresh;
    std::uint64_t at = random() % 3 == 0 ? 0 : random() % size;
    while (at < size && fresh.size() < random() % 12) {
      const std::uint64_t length = std::min(size - at, 1 + random() % (kMiB * (1 + random() % 8)));
      fresh.push_back({at, length});
      at += length + 1 + random() % (8 * kMiB);
    }
    std::uint64_t end = 0;
    const auto parts = plan_parts(size, fresh);
    for (const ObjectPiece& part : parts) {
      ASSERT_EQ(part.range.offset, end);
      end += part.range.length;
      ASSERT_TRUE(part.range.length >= kLeastPart || end == size);
      for (const ByteRange& range : fresh) {
        const bool apart = range.offset + range.length <= part.range.offset || range.offset >= end;
        ASSERT_TRUE(apart || !part.copied);
      }
    }
    ASSERT_EQ(end, size);
  }
}

/// As S3 allows: at most 10,000 parts, each of 5 MiB (but the last) to 5 GiB.
void expect_allowed(std::uint64_t size, const std::vector<ByteRange>& fresh) {
  const auto parts = plan_parts(size, fresh);
  EXPECT_LE(parts.size(), 10000U) << size;
  std::uint64_t end = 0;
  auto next = fresh.begin();
  for (const ObjectPiece& part : parts) {
    ASSERT_EQ(part.range.offset, end);
    end += part.range.length;
    ASSERT_TRUE(part.range.length >= kLeastPart || end == size) << size << " at " << end;
    ASSERT_LE(part.range.length, std::uint64_t{5} << 30U);
    for (; next != fresh.end() && next->offset < end; ++next) {
      ASSERT_FALSE(part.copied) << size << " at " << next->offset;
      if (next->offset + next->length > end) break;
    }
  }
  EXPECT_EQ(end, size);
}

TEST(PartPlan, OfLargeObjectsIsAllowed) {
  constexpr std::uint64_t kGiB = kMiB << 10U;
  std::minstd_rand random(11);
  for (const std::uint64_t size :
       {5 * kGiB - 1, 5 * kGiB, 5 * kGiB + 1, 48 * kGiB + 7, 160 * kGiB, 700 * kGiB + 3,
        kGiB << 10U, 5 * (kGiB << 10U) - 1, 5 * (kGiB << 10U)}) {
    expect_allowed(size, {});                            // all of it is copied
    expect_allowed(size, {{0, size}});                   // all of it is sent
    expect_allowed(size, {{0, 20}, {size - 100, 100}});  // both ends
    expect_allowed(size, {{size / 2, 1}});
    std::vector<ByteRange> many;
    std::uint64_t at = 0;
    const std::uint64_t apart = size / 60000;  // more than there may be parts
    for (; at + apart < size; at += apart + random() % 1000)
      many.push_back({at, 1 + random() % 50});
    expect_allowed(size, many);
  }
}

TEST(UploadNotes, ComeBack) {
  const TempDir directory;
  const auto spool = *open_local_store(directory.path(), "spool", LinkPolicy::kInside, 0);
  const UploadNote note = *note_upload(*spool, "a/c/0 \"x\"", "id/+1");
  const auto file = spool->create(".zarrfs-upload-0123456789abcdef0123456789abcdef", 0600);
  ASSERT_TRUE((*file)->write_at(0, Bytes{'{', '"'}));
  const auto found = noted_uploads(*spool);
  ASSERT_TRUE(found && found->size() == 1);
  EXPECT_EQ(found->front().key, "a/c/0 \"x\"");
  EXPECT_EQ(found->front().id, "id/+1");
  EXPECT_EQ(found->front().file, note.file);
  ASSERT_TRUE(forget_upload(*spool, note));
  EXPECT_TRUE((*spool->list(""))->empty());
}

TEST(PartAnswers, AreRead) {
  EXPECT_EQ(parse_upload_id("<InitiateMultipartUploadResult xmlns='x'><Key>k</Key>"
                            "<UploadId>a&amp;b</UploadId></InitiateMultipartUploadResult>"),
            "a&b");
  EXPECT_EQ(parse_copied_tag("<CopyPartResult><ETag>&quot;t&quot;</ETag></CopyPartResult>"),
            "\"t\"");
  EXPECT_EQ(parse_completed_tag("<CompleteMultipartUploadResult><ETag>\"t-2\"</ETag>"
                                "</CompleteMultipartUploadResult>"),
            "\"t-2\"");
  EXPECT_EQ(parse_upload_id("<Error><Code>x</Code></Error>"), "");
  EXPECT_EQ(parse_copied_tag("no document"), "");
}

}  // namespace
}  // namespace zarrfs
