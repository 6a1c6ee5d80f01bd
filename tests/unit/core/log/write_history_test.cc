// What writers of a shard at a server leave with it.
#include "core/log/write_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::SizeIs;

using Chunks = std::set<std::uint64_t>;

std::string id(char digit) { return std::string(32, digit); }

TEST(WriteHistory, ComesBackAsItWasWritten) {
  WriteHistory history;
  history.add({id('a'), 7, 0, Chunks{0}});
  history.add({id('b'), 12, 0xfedcba9876543210U, Chunks{1, 2, 3, 9, 4095}});
  history.add({id('a'), 20, 5, std::nullopt});
  EXPECT_EQ(WriteHistory::parse(history.text()).notes(), history.notes());
  EXPECT_EQ(history.text().substr(33),
            "14.5.x," + id('b') + ".c.fedcba9876543210.1-3_9_fff," + id('a') + ".7.0.0");
}

TEST(WriteHistory, KnowsWhichOfItsWritesArrived) {
  WriteHistory history;
  history.add({id('a'), 7, 0, Chunks{0}});
  history.add({id('b'), 12, 1, Chunks{1}});
  EXPECT_EQ(history.last_of(id('a')), 7U);
  EXPECT_EQ(history.last_of(id('b')), 12U);
  EXPECT_EQ(history.last_of(id('c')), 0U);
}

TEST(WriteHistory, TellsWhatOthersWroteSinceAVersion) {
  WriteHistory history;
  history.add({id('a'), 1, 100, Chunks{0}});
  history.add({id('b'), 1, 101, Chunks{1}});
  history.add({id('c'), 1, 102, Chunks{2}});
  EXPECT_THAT(history.written_since(102, id('d')), Optional(ElementsAre(2)));
  EXPECT_THAT(history.written_since(101, id('c')), Optional(ElementsAre(1)));
  EXPECT_THAT(history.written_since(100, id('d')), Optional(ElementsAre(0, 1, 2)));
  EXPECT_EQ(history.written_since(99, id('d')), std::nullopt);
  history.add({id('e'), 1, 103, std::nullopt});
  EXPECT_EQ(history.written_since(102, id('d')), std::nullopt);
}

TEST(WriteHistory, IsBoundedAndLosesTheOldest) {
  WriteHistory history;
  for (std::uint64_t number = 0; number < 200; ++number) {
    history.add({id('a'), number + 1, number, Chunks{number}});
  }
  EXPECT_LE(history.text().size(), 1600U);
  const WriteHistory again = WriteHistory::parse(history.text());
  EXPECT_GT(again.notes().size(), 20U);
  EXPECT_EQ(again.notes().front().sequence, 200U);
  Chunks scattered;
  for (std::uint64_t number = 0; number < 2000; number += 2) scattered.insert(number);
  history.add({id('b'), 1, 0, scattered});
  EXPECT_EQ(WriteHistory::parse(history.text()).notes().front().chunks, std::nullopt);
}

TEST(WriteHistory, BelievesNothing) {
  const auto notes = [](const std::string& text) { return WriteHistory::parse(text).notes(); };
  EXPECT_THAT(notes(""), SizeIs(0));
  EXPECT_THAT(notes("a note of somebody else"), SizeIs(0));
  EXPECT_THAT(notes(id('A') + ".1.0.0"), SizeIs(0));
  EXPECT_THAT(notes(id('a') + ".1.0.0," + id('b') + ".z.0.0," + id('c') + ".1.0.0"), SizeIs(1));
  EXPECT_EQ(notes(id('a') + ".1.0.0-ffffffffffffffff").front().chunks, std::nullopt);
  EXPECT_EQ(notes(id('a') + ".1.0.fffffffffffffffe-ffffffffffffffff").front().chunks->size(), 2U);
  EXPECT_EQ(notes(id('a') + ".1.0.5-3").front().chunks, std::nullopt);
  EXPECT_THAT(notes(std::string(1601, 'a')), SizeIs(0));
}

}  // namespace
}  // namespace zarrfs
