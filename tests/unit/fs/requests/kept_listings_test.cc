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
    list(opened, brief);
  }
  void list(const KeptListings::Opened& opened, std::size_t brief = 0) {
    answer(opened, brief);
    kept.ends(kDirectory, opened, 0);
  }
  /// The kernel asks for the names.
  void answer(const KeptListings::Opened& opened, std::size_t brief = 0) {
    kept.asks(kDirectory, opened, 0);
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

TEST_F(KeptListingsTest, OnlyWhoBeginsATermDropsWhatTheKernelHas) {
  EXPECT_FALSE(open(std::nullopt).drop);
  auto early = open(1);
  EXPECT_TRUE(early.drop);
  for (const bool listed : {false, true}) {
    if (listed) list(early);
    EXPECT_FALSE(open(1).drop);
  }
  EXPECT_FALSE(open(2).drop)
      << "the term is over, and early may be filling when the kernel does so";
  EXPECT_FALSE(open(std::nullopt).drop);
  early = {};
  EXPECT_FALSE(open(std::nullopt).drop) << "so may who begins the next one";
  EXPECT_TRUE(open(1).drop);
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

TEST_F(KeptListingsTest, WhatIsOpenWhenItsTimeIsOverIsToldAgainAndKept) {
  auto early = open(1);
  list(early);
  now += KeptListings::kTerm;
  const auto again = open(1);
  EXPECT_NE(again.hold, nullptr) << "the names are still right";
  EXPECT_TRUE(again.drop) << "so that their statuses are told anew";
  EXPECT_FALSE(open(1).drop) << "no other drops what is told then";
  list(again);
  EXPECT_TRUE(keeps(open(1)));
}

TEST_F(KeptListingsTest, WhoBeginsATermAndDoesNotListKeepsNobodyOutForLong) {
  std::uint64_t serial = 0;
  for (const auto& pause : {KeptListings::kPatience, KeptListings::kTerm}) {
    const auto first = open(++serial);
    EXPECT_EQ(open(serial).hold, nullptr);
    now += pause;
    const auto second = open(serial);
    EXPECT_NE(second.hold, nullptr);
    EXPECT_TRUE(second.drop) << "the cache may be the one of before";
    EXPECT_EQ(open(serial).hold, nullptr) << "it is for the second now";
    answer(second);
    EXPECT_TRUE(keeps(open(serial))) << "while it is told";
    kept.ends(kDirectory, second, 0);
    EXPECT_TRUE(keeps(open(serial)));
  }
}

/// Names at the positions 0, 10, 20 and so on.
class Tens : public OpenDirectory {
 public:
  explicit Tens(std::uint64_t end) : end_(end) {}
  Result<void> list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) override {
    for (std::uint64_t at = offset; at < end_; at += 10) {
      if (!sink({std::to_string(at), 0, at, at + 10})) break;
    }
    return {};
  }

 private:
  const std::uint64_t end_;
};

/// What lists by answers of two names, as Linux does: what it is told, and what of that it keeps.
class AskingTest : public KeptListingsTest {
 protected:
  using Names = std::vector<std::string>;
  std::unique_ptr<HeldListing> listing(const KeptListings::Opened& opened, std::uint64_t end) {
    return std::make_unique<HeldListing>(std::make_shared<Tens>(end), kDirectory, kept, opened);
  }
  /// One answer; the position behind it is put into `at`.
  static Names ask(HeldListing& asked, std::uint64_t& at) {
    Names names;
    EXPECT_TRUE(asked.list(at, [&](const Listed& listed) {
      if (names.size() == 2) return false;
      names.emplace_back(listed.name);
      at = listed.next;
      return true;
    }));
    return names;
  }
  /// From `at` to the end, the position of which is put there.
  static Names ask_all(HeldListing& asked, std::uint64_t& at) {
    Names all;
    for (Names some = ask(asked, at); !some.empty(); some = ask(asked, at)) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  /// Of a listing of four names, two are told.
  std::uint64_t list_in_part(std::uint64_t serial) {
    std::uint64_t at = 0;
    ask(*listing(open(serial), 40), at);
    return at;
  }
};

TEST_F(AskingTest, AListingAfterAGapEndsWhereTheKernelStandsStill) {
  const std::uint64_t reached = list_in_part(1);
  const Names all = {"0", "10", "20", "30", "40", "50"};
  for (const bool closed_early : {true, false}) {
    const auto opened = open(2);
    EXPECT_TRUE(opened.drop);
    EXPECT_EQ(opened.gap, reached);
    EXPECT_EQ(open(2).hold, nullptr) << "whose end is elsewhere";
    const auto asked = listing(opened, 60);
    std::uint64_t at = 0;
    if (closed_early) {
      ask(*asked, at);
      EXPECT_NE(at, reached) << "it is not the end";
      continue;
    }
    EXPECT_EQ(ask_all(*asked, at), all);
    EXPECT_EQ(at, reached);
    at = 0;
    EXPECT_EQ(ask_all(*asked, at), all) << "from its start again";
    EXPECT_EQ(at, reached);
  }
  const auto opened = open(2);
  EXPECT_TRUE(opened.drop) << "its end is another one";
  EXPECT_EQ(opened.gap, 0U);
  std::uint64_t at = 0;
  EXPECT_EQ(ask_all(*listing(opened, 60), at), all);
  EXPECT_EQ(at, 60U);
  EXPECT_TRUE(keeps(open(2)));
}

TEST_F(AskingTest, AGapAtTheEndIsNone) {
  for (const std::uint64_t end : {20, 10}) {
    const auto reached = list_in_part(end);
    std::uint64_t at = 0;
    EXPECT_EQ(ask_all(*listing(open(end + 1), end), at).size(), end / 10);
    EXPECT_EQ(at, reached);
    EXPECT_EQ(open(end + 1).gap, 0U);
  }
}

TEST_F(AskingTest, WhatIsHalfToldWhenItsTimeIsOverIsToldAgain) {
  auto early = listing(open(1), 40);
  std::uint64_t at = 0;
  ask(*early, at);
  now += KeptListings::kTerm - 1s;
  EXPECT_TRUE(keeps(open(1)));
  now += 1s;
  EXPECT_EQ(open(1).hold, nullptr) << "a change that nobody tells would show still later";
  early.reset();
  const auto again = open(1);
  EXPECT_TRUE(again.drop);
  EXPECT_EQ(again.gap, at);
}

TEST_F(AskingTest, WhoComesToTheEndElsewhereThanTheKernelDoesNotCompleteItsCache) {
  std::uint64_t serial = 0;
  for (const bool slow_ends : {true, false}) {
    auto slow = listing(open(++serial), 40);
    std::uint64_t at = 0;
    ask(*slow, at);
    auto shorter = listing(open(serial), 10);  // names have gone
    std::uint64_t other = 0;
    ask_all(*shorter, other);
    if (slow_ends) ask_all(*slow, at);
    slow.reset();
    shorter.reset();
    EXPECT_EQ(open(serial + 1).gap, slow_ends ? 0 : at);
  }
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
    list(all, 2);
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
    list(all);
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
