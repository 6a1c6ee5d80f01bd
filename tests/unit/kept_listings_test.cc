// When the kernel may use the names that it has kept of a directory.
#include "fs/requests/kept_listings.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using namespace std::chrono_literals;

constexpr NodeId kDirectory = 7;
constexpr bool kNamesSuffice = true;

/// Whether the kernel may use what it has.
bool keeps(const KeptListings::Opened& opened) { return opened.hold != nullptr && !opened.drop; }

class KeptListingsTest : public ::testing::Test {
 protected:
  KeptListings::Opened open(std::optional<std::uint64_t> serial, bool names_suffice = true) {
    return kept.open(kDirectory, serial, names_suffice, now);
  }
  /// Begins a term, lists with `brief` names without a status, and closes.
  void list(std::uint64_t serial, std::size_t brief = 0) {
    const auto opened = open(serial);
    EXPECT_FALSE(keeps(opened));
    EXPECT_NE(opened.hold, nullptr);
    answer(opened, brief);
  }
  /// The kernel asks for the names.
  void answer(const KeptListings::Opened& opened, std::size_t brief = 0) {
    kept.starts(kDirectory, opened);
    kept.listed(kDirectory, 0, brief);
  }

  KeptListings kept;
  KeptListings::Clock::time_point now = KeptListings::Clock::now();
};

TEST_F(KeptListingsTest, ASecondListingIsKeptWhileTheSerialStays) {
  list(1);
  EXPECT_TRUE(keeps(open(1)));
  EXPECT_TRUE(keeps(open(1)));
  EXPECT_FALSE(keeps(kept.open(kDirectory + 1, 1, kNamesSuffice, now))) << "another directory";
  list(2);
  EXPECT_TRUE(keeps(open(2)));
  EXPECT_FALSE(keeps(open(1))) << "whatever number it is";
}

TEST_F(KeptListingsTest, NothingIsKeptBeforeTheKernelHasDroppedWhatWasThere) {
  list(1);
  const auto first = open(2);
  EXPECT_TRUE(first.drop);
  EXPECT_EQ(open(2).hold, nullptr) << "the cache may be the one of before";
  answer(first);
  EXPECT_TRUE(keeps(open(2)));
  EXPECT_EQ(open(3).hold, nullptr);
  EXPECT_FALSE(keeps(open(2)));
}

TEST_F(KeptListingsTest, WhoBeginsATermAndListsNothingLeavesItToTheNext) {
  static_cast<void>(open(1));
  list(1);
  EXPECT_TRUE(keeps(open(1)));
}

TEST_F(KeptListingsTest, NothingIsDroppedWhileTheKernelFillsItsCache) {
  auto early = open(1);
  for (const bool listed : {false, true}) {
    if (listed) answer(early);
    EXPECT_FALSE(open(1).drop);
    EXPECT_FALSE(open(2).drop) << "the term is over";
    EXPECT_FALSE(open(std::nullopt).drop);
  }
  early = {};
  EXPECT_TRUE(open(1).drop);
}

TEST_F(KeptListingsTest, WhatIsCompleteIsDroppedForThoseWhoReadItAgain) {
  auto early = open(1);
  answer(early);
  kept.ends(kDirectory, early);
  EXPECT_TRUE(keeps(open(1)));
  EXPECT_TRUE(open(2).drop) << "early shall ask if it starts again";
  kept.starts(kDirectory, early);
  EXPECT_FALSE(open(2).drop) << "it does";
  kept.ends(kDirectory, early);
  EXPECT_TRUE(open(2).drop);
  EXPECT_EQ(open(2).hold, nullptr);
}

TEST_F(KeptListingsTest, WhoListsAfterTheTermSaysNothingOfTheNext) {
  auto early = open(1);
  EXPECT_EQ(open(2).hold, nullptr);
  answer(early);
  const auto gone = early.hold;
  early = {};
  EXPECT_EQ(open(2).hold, nullptr) << "it is still open";
  EXPECT_FALSE(keeps(open(2)));
}

TEST_F(KeptListingsTest, WithoutASerialNothingIsKeptAndTheTermIsOver) {
  EXPECT_EQ(open(std::nullopt).hold, nullptr);
  list(1);
  const auto untold = open(std::nullopt);
  EXPECT_FALSE(keeps(untold));
  EXPECT_EQ(untold.hold, nullptr) << "what it is told must not go to the cache";
  EXPECT_FALSE(keeps(open(1)));
}

TEST_F(KeptListingsTest, WhileAnOlderListingIsOpenNoTermBegins) {
  auto early = open(1);
  for (int i = 0; i < 3; ++i) {
    const auto later = open(2);
    EXPECT_FALSE(keeps(later));
    EXPECT_EQ(later.hold, nullptr) << "the older one could have filled in what was before";
  }
  EXPECT_FALSE(keeps(open(1)));
  early = {};
  list(2);
  EXPECT_TRUE(keeps(open(2)));
}

TEST_F(KeptListingsTest, ListingsOfOneTermHoldItTogether) {
  auto first = open(1);
  answer(first);
  auto second = open(1);
  EXPECT_TRUE(keeps(second));
  first = {};
  EXPECT_EQ(open(2).hold, nullptr);
  second = {};
  EXPECT_NE(open(2).hold, nullptr);
}

TEST_F(KeptListingsTest, ATermEndsBeforeWhatWasLentInIt) {
  list(1);
  now += KeptListings::kTerm - 1s;
  EXPECT_TRUE(keeps(open(1))) << "being used makes it no longer";
  now += 1s;
  list(1);
  EXPECT_TRUE(keeps(open(1)));
}

TEST_F(KeptListingsTest, NamesAloneAreKeptForWhoWantsNamesAlone) {
  list(1, 100);
  const auto names = open(1, kNamesSuffice);
  EXPECT_TRUE(keeps(names));
  EXPECT_TRUE(names.names_only);
}

TEST_F(KeptListingsTest, NamesAloneAreNotKeptWhereProgramsWantStatuses) {
  list(1, 100);
  {
    const auto all = open(1, !kNamesSuffice);
    EXPECT_FALSE(keeps(all));
    answer(all, 2);
  }
  const auto with_statuses = open(1, !kNamesSuffice);
  EXPECT_TRUE(keeps(with_statuses)) << "documents are few";
  EXPECT_FALSE(with_statuses.names_only);
}

TEST_F(KeptListingsTest, ManyNamesAloneAreNotKept) {
  list(1, 100);
  kept.listed(kDirectory, 100, 50);
  {
    const auto all = open(1, kNamesSuffice);
    EXPECT_FALSE(keeps(all)) << "each would be looked up before a listing tells";
    answer(all);
    kept.listed(kDirectory, 100, 0);
  }
  EXPECT_TRUE(keeps(open(1, kNamesSuffice))) << "all with their statuses";
}

TEST_F(KeptListingsTest, ThereIsRoomForManyDirectories) {
  std::vector<std::shared_ptr<const void>> held;
  for (NodeId node = 100; node < 40'000; ++node) {
    auto opened = kept.open(node, 1, kNamesSuffice, now);
    if (node % 2 == 0) held.push_back(std::move(opened.hold));
  }
  EXPECT_EQ(held.back(), nullptr) << "all that is known is open";
  held.clear();
  list(1);
  EXPECT_TRUE(keeps(open(1)));
}

}  // namespace
}  // namespace zarrfs
