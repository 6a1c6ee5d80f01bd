// The small files of a shared store: what is written is read, and what is broken, or somebody
// else's, is told to be.
#include "core/shared/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "core/base/bytes.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

const std::string kId(32, 'a');

GenerationRecord generation() {
  GenerationRecord record;
  record.path = "a/c/0";
  record.generation = 7;
  record.id = kId;
  record.before = std::string(32, 'b');
  record.payload = std::string(32, 'c');
  record.size = 1'000;
  record.ends = 0xDEADBEEF;
  record.notes = kId + ":0.1.7\n";
  return record;
}

TEST(SharedRecord, AGenerationIsReadAsItWasWritten) {
  EXPECT_EQ(*generation_in(sealed_text(generation()), "record"), generation());
  GenerationRecord first;
  first.path = "zarr.json";
  first.generation = 1;
  first.id = kId;
  EXPECT_EQ(*generation_in(sealed_text(first), "record"), first);
}

TEST(SharedRecord, AMemberIsReadAsItWasWritten) {
  const MemberRecord record{false, "x-1", "host \"one\"", 4711, "boot", 30'000, 60'000};
  EXPECT_EQ(*member_in(sealed_text(record), "record"), record);
  MemberRecord closed;
  closed.closed = true;
  EXPECT_TRUE(member_in(sealed_text(closed), "record")->closed);
}

TEST(SharedRecord, AnyByteThatChangesIsFound) {
  const std::string text = sealed_text(generation());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string broken = text;
    broken[i] = static_cast<char>(broken[i] ^ 1);
    EXPECT_FALSE(generation_in(broken, "record")) << "byte " << i;
    EXPECT_FALSE(generation_in(text.substr(0, i), "record")) << "cut to " << i;
  }
}

TEST(SharedRecord, PathsAndNamesStayWithinTheStore) {
  for (const char* path : {"", "../a", "/etc/passwd", "a//b", "a/./b"}) {
    GenerationRecord record = generation();
    record.path = path;
    EXPECT_FALSE(generation_in(sealed_text(record), "record")) << path;
    EXPECT_FALSE(announcement_in(sealed_text(Announcement{path, 1, kId, false}))) << path;
  }
  GenerationRecord record = generation();
  record.payload = "../../x";
  EXPECT_FALSE(generation_in(sealed_text(record), "record"));
  EXPECT_FALSE(member_in(sealed_text(MemberRecord{false, "../x", "", 1, ""}), "record"));
}

TEST(SharedRecord, ALaterFormatIsNamed) {
  std::string text = sealed_text(generation());
  text.replace(text.find("\"format\":1"), 10, "\"format\":2");
  const std::string inner = text.substr(0, text.size() - 9);
  char seal[10];
  std::snprintf(seal, sizeof seal, "%08x\n",
                crc32c({reinterpret_cast<const std::uint8_t*>(inner.data()), inner.size()}));
  const auto read = generation_in(inner + seal, "record 7");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().fault, Fault::kUnsupported);
  EXPECT_THAT(read.error().message, HasSubstr("record 7: it has format 2"));
}

TEST(SharedRecord, AnAnnouncementIsReadAsItWasWritten) {
  const Announcement announcement{"a/c/0", 7, kId, true};
  std::string line = sealed_text(announcement);
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_EQ(*announcement_in(line), announcement);
  for (std::size_t i = 0; i < line.size(); ++i) {
    EXPECT_FALSE(announcement_in(line.substr(0, i))) << "cut to " << i;
  }
}

}  // namespace
}  // namespace zarrfs
