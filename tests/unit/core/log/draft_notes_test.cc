// Notes of drafts: each speaks for its own, and for earlier ones of the same chunk and mount.
#include "core/log/draft_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kOne(32, '1');
const std::string kTwo(32, '2');

TEST(DraftNotes, SpeakForADraftAndEarlierOnesOfTheSameChunkAndMount) {
  DraftNotes notes;
  notes.add(kOne, 5, 7, 1);
  EXPECT_TRUE(notes.speak_for(kOne, 5, 7));
  EXPECT_TRUE(notes.speak_for(kOne, 5, 3));
  EXPECT_FALSE(notes.speak_for(kOne, 5, 8));
  EXPECT_FALSE(notes.speak_for(kOne, 4, 3));
  EXPECT_FALSE(notes.speak_for(kTwo, 5, 3));
  notes.add(kOne, 5, 2, 2);  // whoever puts an older one again does not unsay the newer
  EXPECT_TRUE(notes.speak_for(kOne, 5, 7));
}

TEST(DraftNotes, TellWhatOthersHaveWrittenSince) {
  DraftNotes notes;
  notes.add(kOne, 1, 1, 1);
  notes.add(kTwo, 2, 1, 2);
  notes.add(kTwo, 3, 2, 3);
  EXPECT_THAT(notes.written_after(0, kOne), ElementsAre(2, 3));
  EXPECT_THAT(notes.written_after(2, kOne), ElementsAre(3));
  EXPECT_THAT(notes.written_after(3, kOne), IsEmpty());
  EXPECT_THAT(notes.written_after(0, kTwo), ElementsAre(1));
}

TEST(DraftNotes, TellWhichDraftOfADeadWriterIsTheOlderOne) {
  DraftNotes notes;
  notes.add(kTwo, 3, 2, 4);
  EXPECT_TRUE(notes.overtake(3, kOne, 3, 100)) << "its writer has put it since";
  EXPECT_FALSE(notes.overtake(3, kOne, 4, 100)) << "it was there before";
  EXPECT_FALSE(notes.overtake(3, kTwo, 3, 100)) << "its own";
  EXPECT_FALSE(notes.overtake(2, kOne, 3, 100)) << "another chunk";
  notes.add(kTwo, 3, 2, 4, 90);
  EXPECT_FALSE(notes.overtake(3, kOne, 3, 100)) << "put since, and written before";
  EXPECT_TRUE(notes.overtake(3, kOne, 3, 80));
}

TEST(DraftNotes, AreReadAsTheyWereWritten) {
  DraftNotes notes;
  EXPECT_EQ(*DraftNotes::parse(notes.text()), notes);
  for (std::uint64_t i = 0; i < 100; ++i) {
    notes.add(i % 3 == 0 ? kOne : kTwo, i * i, i << 40U, UINT64_MAX - i, i % 2);
  }
  EXPECT_EQ(*DraftNotes::parse(notes.text()), notes);
}

TEST(DraftNotes, ThatAreBrokenAreNotTakenForNone) {
  const std::string good = kOne + ":1.2.3,4.5.6.7,8.9.a\n";
  EXPECT_TRUE(DraftNotes::parse(good));
  for (const std::string& text :
       {good.substr(0, good.size() - 1), kOne + "\n", std::string("x") + good, kOne + ":1.2\n",
        kOne + ":1.2.\n", kOne + ":1.2.3 4.5.6\n", kOne + ":-1.2.3\n", kOne + ":1.2.3.4.5\n",
        kOne + ":1.2.3.\n", kOne + ":11111111111111111.2.3\n", std::string("\n")}) {
    EXPECT_FALSE(DraftNotes::parse(text)) << text;
  }
}

}  // namespace
}  // namespace zarrfs
