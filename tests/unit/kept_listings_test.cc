// When the kernel may use the names that it has kept of a directory.
#include "fs/requests/kept_listings.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

using namespace std::chrono_literals;

constexpr NodeId kDirectory = 7;
constexpr bool kNamesSuffice = true;

class KeptListingsTest : public ::testing::Test {
 protected:
  KeptListings::Opened open(std::optional<std::uint64_t> serial, bool names_suffice = true) {
    return kept.open(kDirectory, serial, names_suffice, now);
  }
  /// Begins a term, lists with `brief` names without a status, and closes.
  void list(std::uint64_t serial, std::size_t brief = 0) {
    const auto opened = open(serial);
    EXPECT_FALSE(opened.keep);
    EXPECT_NE(opened.hold, nullptr);
    answer(opened, brief);
  }
  /// The kernel asks for the names.
  void answer(const KeptListings::Opened& opened, std::size_t brief = 0) {
    kept.lists(kDirectory, opened.hold);
    kept.listed(kDirectory, 0, brief);
  }

  KeptListings kept;
  KeptListings::Clock::time_point now = KeptListings::Clock::now();
};

TEST_F(KeptListingsTest, ASecondListingIsKeptWhileTheSerialStays) {
  list(1);
  EXPECT_TRUE(open(1).keep);
  EXPECT_TRUE(open(1).keep);
  EXPECT_FALSE(kept.open(kDirectory + 1, 1, kNamesSuffice, now).keep) << "another directory";
  list(2);
  EXPECT_TRUE(open(2).keep);
  EXPECT_FALSE(open(1).keep) << "whatever number it is";
}

TEST_F(KeptListingsTest, NothingIsKeptBeforeTheKernelHasDroppedWhatWasThere) {
  list(1);
  const auto first = open(2);
  const auto second = open(2);
  EXPECT_FALSE(second.keep) << "the cache may be the one of before";
  EXPECT_NE(second.hold, nullptr);
  answer(second);
  const auto third = open(2);
  EXPECT_TRUE(third.keep);
  const auto fourth = open(3);
  EXPECT_EQ(fourth.hold, nullptr);
  EXPECT_FALSE(open(2).keep);
}

TEST_F(KeptListingsTest, WhoListsAfterTheTermSaysNothingOfTheNext) {
  auto early = open(1);
  EXPECT_EQ(open(2).hold, nullptr);
  answer(early);
  const auto gone = early.hold;
  early = {};
  EXPECT_EQ(open(2).hold, nullptr) << "it is still open";
  EXPECT_FALSE(open(2).keep);
}

TEST_F(KeptListingsTest, WithoutASerialNothingIsKeptAndTheTermIsOver) {
  EXPECT_EQ(open(std::nullopt).hold, nullptr);
  list(1);
  const auto untold = open(std::nullopt);
  EXPECT_FALSE(untold.keep);
  EXPECT_EQ(untold.hold, nullptr) << "what it is told must not go to the cache";
  EXPECT_FALSE(open(1).keep);
}

TEST_F(KeptListingsTest, WhileAnOlderListingIsOpenNoTermBegins) {
  auto early = open(1);
  for (int i = 0; i < 3; ++i) {
    const auto later = open(2);
    EXPECT_FALSE(later.keep);
    EXPECT_EQ(later.hold, nullptr) << "the older one could have filled in what was before";
  }
  EXPECT_FALSE(open(1).keep);
  early = {};
  list(2);
  EXPECT_TRUE(open(2).keep);
}

TEST_F(KeptListingsTest, ListingsOfOneTermHoldItTogether) {
  auto first = open(1);
  answer(first);
  auto second = open(1);
  EXPECT_TRUE(second.keep);
  first = {};
  EXPECT_EQ(open(2).hold, nullptr);
  second = {};
  EXPECT_NE(open(2).hold, nullptr);
}

TEST_F(KeptListingsTest, ATermEndsBeforeWhatWasLentInIt) {
  list(1);
  now += KeptListings::kTerm - 1s;
  EXPECT_TRUE(open(1).keep) << "being used makes it no longer";
  now += 1s;
  list(1);
  EXPECT_TRUE(open(1).keep);
}

TEST_F(KeptListingsTest, NamesAloneAreKeptForWhoWantsNamesAlone) {
  list(1, 100);
  const auto names = open(1, kNamesSuffice);
  EXPECT_TRUE(names.keep);
  EXPECT_TRUE(names.names_only);
}

TEST_F(KeptListingsTest, NamesAloneAreNotKeptWhereProgramsWantStatuses) {
  list(1, 100);
  {
    const auto all = open(1, !kNamesSuffice);
    EXPECT_FALSE(all.keep);
    answer(all, 2);
  }
  const auto with_statuses = open(1, !kNamesSuffice);
  EXPECT_TRUE(with_statuses.keep) << "documents are few";
  EXPECT_FALSE(with_statuses.names_only);
}

TEST_F(KeptListingsTest, ManyNamesAloneAreNotKept) {
  list(1, 100);
  kept.listed(kDirectory, 100, 50);
  {
    const auto all = open(1, kNamesSuffice);
    EXPECT_FALSE(all.keep) << "each would be looked up before a listing tells";
    answer(all);
    kept.listed(kDirectory, 100, 0);
  }
  EXPECT_TRUE(open(1, kNamesSuffice).keep) << "all with their statuses";
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
  EXPECT_TRUE(open(1).keep);
}

}  // namespace
}  // namespace zarrfs
