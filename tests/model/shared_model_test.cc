// The protocol of core/log/SHARED.md: every state of small cases, ways by chance through larger
// ones, and the faults that it must find.
#include "tests/model/shared_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "tests/model/shared_explorer.h"

namespace zarrfs::testing {
namespace {

// Of writer A, B or C: a chunk of the first shard, or of the second.
constexpr Write kA0{0, 0, 0};
constexpr Write kA1{0, 0, 1};
constexpr Write kA2nd{0, 1, 0};
constexpr Write kB0{1, 0, 0};
constexpr Write kB1{1, 0, 1};
constexpr Write kB2nd{1, 1, 0};
constexpr Write kC0{2, 0, 0};
constexpr Write kC1{2, 0, 1};
constexpr Write kC2nd{2, 1, 1};

/// By the program of the first draft, which was A's.
constexpr Write kB0Next{1, 0, 0, 0};

constexpr std::uint64_t kMostStates = 12'000'000;

bool is_long() {
  const char* text = std::getenv("ZARRFS_SHARED");
  return text != nullptr && std::string_view(text) == "long";
}

struct Case {
  const char* name;
  Scenario scenario;
  bool long_only = false;
};

std::vector<Case> cases() {
  return {
      {"two writers of a chunk each", {.writes = {kA0, kB1}}},
      {"and a reader", {.writes = {kA0, kB1}, .readers = 1}},
      {"two writers of one chunk, a death and a lost lease",
       {.writes = {kA0, kB0}, .kills = 1, .fences = 1}},
      {"two writers, two lost leases", {.writes = {kA0, kB1}, .fences = 2}},
      {"two writers, a lost answer and a lost lease",
       {.writes = {kA0, kB1}, .fences = 1, .lost_answers = 1}},
      {"two writers, old answers about logs and names, a lost lease",
       {.writes = {kA0, kB1}, .fences = 1, .looks = 1}},
      {"a chunk that is written twice, a lost lease", {.writes = {kA0, kA0, kB0}, .fences = 1}},
      {"commits after each write", {.writes = {kA0, kA0, kA0, kB1}, .commits_after_each = true}},
      {"two shards, a death", {.shards = 2, .writes = {kA0, kA2nd, kB1, kB2nd}, .kills = 1}},
      {"three writers", {.writers = 3, .writes = {kA0, kB1, kC0}}},
      {"three machines, two deaths and a lost lease",
       {.writers = 3, .writes = {kA0}, .kills = 2, .fences = 1}},
      {"a program that goes on with another writer, two deaths",
       {.writers = 3, .writes = {kA0, kB0Next}, .kills = 2}},
      {"two writers, and the end of the epoch",
       {.writes = {kA0, kB1}, .kills = 1, .fences = 1, .closes = true}},
      {"two writers, a death, a lost lease, a lost answer",
       {.writes = {kA0, kA1, kB1}, .kills = 1, .fences = 1, .lost_answers = 1},
       true},
      {"two writers, one of each",
       {.writes = {kA0, kB1}, .kills = 1, .fences = 1, .lost_answers = 1, .looks = 1},
       true},
      {"two shards, a death and a lost lease",
       {.shards = 2, .writes = {kA0, kA2nd, kB1, kB2nd}, .kills = 1, .fences = 1},
       true},
      {"three writers, a death", {.writers = 3, .writes = {kA0, kB1, kC1}, .kills = 1}, true},
      {"a program that goes on with another writer, two deaths and a lost lease",
       {.writers = 3, .writes = {kA0, kB0Next}, .kills = 2, .fences = 1},
       true},
      {"three machines, a death and a lost lease",
       {.writers = 3, .writes = {kA0, kB1}, .kills = 1, .fences = 1},
       true},
      {"three machines, a lost lease, and the end of the epoch",
       {.writers = 3, .writes = {kA0, kB1}, .fences = 1, .closes = true},
       true},
      {"three machines, two writers, two deaths and a lost lease",
       {.writers = 3, .writes = {kA0, kB1}, .kills = 2, .fences = 1},
       true},
  };
}

std::string printed(long double number) {
  char text[64];
  std::snprintf(text, sizeof text, number < 1e9L ? "%.0Lf" : "%.2Le", number);
  return text;
}

TEST(SharedModel, EveryInterleavingOfSmallCasesLosesNothing) {
  for (const Case& one : cases()) {
    if (one.long_only && !is_long()) continue;
    const Explored found = explore_all(SharedModel(one.scenario), kMostStates);
    ASSERT_EQ(found.fault, "") << one.name;
    ASSERT_FALSE(found.gave_up) << one.name << ": more states than " << kMostStates;
    ASSERT_FALSE(found.circular) << one.name;
    std::printf("%-60s %9llu states %9llu steps %s interleavings\n", one.name,
                static_cast<unsigned long long>(found.states),
                static_cast<unsigned long long>(found.steps), printed(found.interleavings).c_str());
  }
}

TEST(SharedModel, WaysByChanceThroughLargerCasesLoseNothing) {
  const std::uint64_t ways = is_long() ? 50'000 : 2'000;
  const char* given = std::getenv("ZARRFS_WRITE_SEED");
  const std::uint64_t seed = given == nullptr ? 7 : std::strtoull(given, nullptr, 10);
  const std::vector<Case> larger = {
      {"three writers of one shard",
       {.writers = 3,
        .writes = {kA0, kB1, kC0, kA0},
        .kills = 2,
        .fences = 2,
        .lost_answers = 1,
        .looks = 2}},
      {"three writers of two shards",
       {.writers = 3,
        .shards = 2,
        .writes = {kA0, kA2nd, kB0, kB1, kC2nd},
        .kills = 2,
        .fences = 3,
        .lost_answers = 2,
        .looks = 2}},
      {"three writers that commit after each write",
       {.writers = 3,
        .shards = 2,
        .writes = {kA0, kB0, kC0, kA2nd, kC2nd, kA0},
        .kills = 1,
        .fences = 3,
        .lost_answers = 2,
        .looks = 2,
        .commits_after_each = true}},
      {"three writers, and the end of the epoch",
       {.writers = 3,
        .writes = {kA0, kB0, kC1, kA1},
        .kills = 1,
        .fences = 3,
        .lost_answers = 1,
        .looks = 1,
        .closes = true}},
      {"a program that goes on with another writer",
       {.writers = 3,
        .writes = {kA0, kB0Next, kC0, kC1},
        .kills = 2,
        .fences = 2,
        .lost_answers = 1,
        .looks = 1}},
      {"two writers that write again and again",
       {.writes = {kA0, kA0, kA1, kB0, kB1},
        .kills = 1,
        .fences = 2,
        .lost_answers = 1,
        .looks = 2,
        .readers = 1,
        .commits_after_each = true}},
  };
  for (const Case& one : larger) {
    const Explored found = explore_some(SharedModel(one.scenario), ways, seed);
    ASSERT_EQ(found.fault, "") << one.name << ": replay: ZARRFS_WRITE_SEED";
    std::printf("%-60s %9llu ways %9llu steps\n", one.name,
                static_cast<unsigned long long>(found.ends),
                static_cast<unsigned long long>(found.steps));
  }
}

/// A scenario that is right, and finds the fault once it is planted.
struct Fault {
  Planted planted;
  const char* name;
  Scenario scenario;
  const char* told;  ///< A part of what the model says.
};

std::vector<Fault> faults() {
  const Scenario two_writers{.writes = {kA0, kB1}};
  const Scenario mistaken{.writes = {kA0, kB1}, .fences = 1};
  const Scenario deaths{.writers = 3, .writes = {kA0}, .kills = 2, .fences = 1};
  const Scenario goes_on{.writers = 3, .writes = {kA0, kB0Next}, .kills = 2};
  return {
      {Planted::kLockIsTrusted, "LockIsTrusted", two_writers, "no draft was given for it"},
      {Planted::kBaseIsTheName,
       "BaseIsTheName",
       {.writes = {kA0, kB1}, .looks = 1},
       "no draft was given for it"},
      {Planted::kRenameHasACondition, "RenameHasACondition", two_writers, "went back"},
      {Planted::kDeadIsBelieved, "DeadIsBelieved", mistaken, "in no log that will be read"},
      {Planted::kReadTooEarly,
       "ReadTooEarly",
       {.writes = {kA0, kB1}, .kills = 1, .looks = 1},
       "in no log that will be read"},
      {Planted::kAdoptsAtOnce, "AdoptsAtOnce", two_writers, "no draft was given for it"},
      {Planted::kNotesSpeakForAll,
       "NotesSpeakForAll",
       {.writes = {kA0, kA1, kB1}, .fences = 1},
       "in no log that will be read"},
      {Planted::kNotesOfOneSequence,
       "NotesOfOneSequence",
       {.writes = {kA0, kA0, kB1}, .fences = 1},
       "has gone back to d0"},
      {Planted::kRecordsAreRemoved,
       "RecordsAreRemoved",
       {.writes = {kA0, kA0, kA0, kB1}, .commits_after_each = true},
       "record 0.1"},
      {Planted::kTakerCleans, "TakerCleans", mistaken, "its payload is gone"},
      {Planted::kNotAnnounced, "NotAnnounced", deaths, "does not lead to its tip"},
      {Planted::kNotDecided, "NotDecided", deaths, "does not lead to its tip"},
      {Planted::kLoserKeepsItsWay,
       "LoserKeepsItsWay",
       {.writes = {kA0, kB1}, .fences = 1, .closes = true},
       "went back"},
      {Planted::kTakerPutsOver, "TakerPutsOver", goes_on, "by way of another writer"},
      {Planted::kLatePutIsNew, "LatePutIsNew", goes_on, "in no log that will be read"},
      {Planted::kReaderLooksTwice,
       "ReaderLooksTwice",
       {.writes = {kA0}, .readers = 1},
       "a mixed shard"},
  };
}

class PlantedFault : public ::testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsFoundWithTheStepsThatLeadToIt) {
  Scenario scenario = GetParam().scenario;
  scenario.planted = GetParam().planted;
  const Explored found = explore_all(SharedModel(scenario), kMostStates);
  EXPECT_NE(found.fault.find(GetParam().told), std::string::npos) << found.fault;
  EXPECT_NE(found.fault.find("\n  1. "), std::string::npos);
  std::printf("%s", found.fault.c_str());
}

INSTANTIATE_TEST_SUITE_P(SharedModel, PlantedFault, ::testing::ValuesIn(faults()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SharedModel, SeesWhatItIsThereFor) {
  const std::set<std::string_view> expected = {
      "by an absence that is old",
      "EEXIST",
      "EEXIST, it is its own",
      "shard's name: ENOENT",
      "the answer is lost, and then ENOENT",
      "finds its token gone",
      "finds its token gone, in its commit",
      "comes again",
      "which another has taken from it",
      "by an old entry",
      "payload gone",
      "whose writer it takes for dead",
      "is killed",
      "finds nothing that is not in the shard",
      "leaves",
      "closes the epoch",
      "finds the epoch closed",
      "finds the directory of records not empty",
      "finds newer chunks than",
  };
  std::set<std::string_view> missing = expected;
  const auto see = [&](const std::string& what) {
    std::erase_if(missing, [&](std::string_view one) { return what.find(one) != what.npos; });
  };
  const SharedModel larger({.writers = 3,
                            .writes = {kA0, kB1, kC0, kA0},
                            .kills = 2,
                            .fences = 3,
                            .lost_answers = 2,
                            .looks = 2,
                            .commits_after_each = true});
  for (std::uint64_t way = 0; way < 500; ++way) {
    visit_some(larger, way, [&](const SharedState&, const std::string& what) { see(what); });
  }
  const SharedModel closing({.writes = {kA0, kB1}, .fences = 1, .closes = true});
  std::set<SharedState> known = {closing.first()};
  std::vector<SharedState> open(known.begin(), known.end());
  while (!open.empty()) {
    const SharedState state = open.back();
    open.pop_back();
    closing.steps(state, [&](const SharedState& after, const std::string& what) {
      see(what);
      if (known.insert(after).second) open.push_back(after);
    });
  }
  EXPECT_EQ(missing, std::set<std::string_view>());
}

/// Stopped between its last look and the rename, for as long as one likes: a second writer settles
/// its generation and puts the next one, and the rename finds its source gone.
TEST(SharedModel, AWriterThatWasPausedBeforeItsRenameReplacesNothing) {
  const SharedModel model({.writes = {kA0, kB1}});
  SharedState state = model.first();
  const auto go = [&](std::string_view what) {
    bool went = false;
    const SharedState now = state;
    model.steps(now, [&](const SharedState& after, const std::string& step) {
      if (went || step.find(what) == step.npos) return;
      state = after;
      went = true;
    });
    ASSERT_TRUE(went) << what;
  };
  for (const char* step :
       {"writer 0 writes", "writer 0 syncs", "writer 0 moves", "writer 0 finds", "writer 0 makes",
        "writer 0 moves", "writer 0 links P2 as record 0.1: done", "writer 1 writes",
        "writer 1 syncs", "writer 1 moves", "writer 1 finds record 0.1", "writer 1 settles",
        "writer 1 makes P3 of P2", "writer 1 moves", "writer 1 links P3 as record 0.2: done",
        "writer 1 renames P3 to the shard's name: done",
        "writer 0 renames P2 to the shard's name: ENOENT"}) {
    go(step);
    ASSERT_EQ(model.fault_of(state), "");
  }
  EXPECT_EQ(state.names[0], state.records[0][2]);
}

}  // namespace
}  // namespace zarrfs::testing
