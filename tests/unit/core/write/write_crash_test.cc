// Crashes at every step of the write path, every store call failing in turn, and the proof that
// these harnesses would notice: mutants that leave a step out.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

/// What a workload promised at some moment: for each chunk the values that may be found after a
/// crash now.
class Promises {
 public:
  /// A write has begun: the old and the new value are both right from now on.
  void begin(std::uint64_t chunk, std::optional<Bytes> value) {
    allowed_[chunk].push_back(std::move(value));
  }
  /// The latest value must be found after the death of the process.
  void acknowledge(std::uint64_t chunk) { acknowledged_[chunk] = allowed_[chunk].size() - 1; }
  /// The latest acknowledged value must be found after a power cut too.
  void make_durable(std::uint64_t chunk) {
    if (acknowledged_.contains(chunk)) durable_[chunk] = acknowledged_[chunk];
  }

  /// Why `found` breaks a promise; empty where it keeps all.
  [[nodiscard]] std::string broken_by(const Chunks& found, bool power_cut) const {
    const auto& first = power_cut ? durable_ : acknowledged_;
    for (const auto& [chunk, values] : allowed_) {
      const auto at = found.find(chunk);
      const std::optional<Bytes> value =
          at == found.end() ? std::nullopt : std::optional(at->second);
      const auto oldest = first.find(chunk);
      bool right = oldest == first.end() && !value;  // as before any write
      for (std::size_t i = oldest == first.end() ? 0 : oldest->second; i < values.size(); ++i) {
        right = right || values[i] == value;
      }
      if (!right)
        return "chunk " + std::to_string(chunk) + (value ? " has a wrong value" : " is lost");
    }
    return {};
  }

 private:
  std::map<std::uint64_t, std::vector<std::optional<Bytes>>> allowed_;
  std::map<std::uint64_t, std::size_t> acknowledged_;
  std::map<std::uint64_t, std::size_t> durable_;
};

/// A fixed workload over one store, noting what it was promised.
void run_workload(const std::shared_ptr<MemoryStore>& store, Promises& promises) {
  const auto writer = Writer::open(store, quiet_options());
  if (!writer) return;
  const auto put = [&](std::uint64_t chunk, std::uint64_t value) {
    promises.begin(chunk, chunk_of(value));
    if (writer->put(chunk, chunk_of(value))) promises.acknowledge(chunk);
  };
  put(0, 10);
  put(1, 11);
  put(3, 13);
  if (writer->sync(0)) promises.make_durable(0);
  if (writer->sync(1)) promises.make_durable(1);
  if (writer->sync(3)) promises.make_durable(3);
  static_cast<void>(writer->commit(0));  // may fail; what was acknowledged stays
  put(2, 12);
  promises.begin(0, std::nullopt);
  // Where there is no room to log it, a chunk is removed all the same, until this process dies.
  if (writer->remove(0) && writer->is_logged(0)) promises.acknowledge(0);
  put(5, 15);
  if (writer->buffer().sync_below("")) {
    for (const std::uint64_t chunk : {0, 2, 5}) promises.make_durable(chunk);
  }
  put(2, 112);
  static_cast<void>(writer->buffer().close());
}

/// Commits that leave the successor behind, as it holds chunk 0 twice, each followed by another
/// write of the chunk and its fsync.
template <std::uint64_t kLongLog>
void run_rewriting_workload(const std::shared_ptr<MemoryStore>& store, Promises& promises) {
  WriteOptions options = quiet_options();
  options.long_log = kLongLog;  // 0: a new one after each commit
  const auto writer = Writer::open(store, std::move(options));
  if (!writer) return;
  const auto put = [&](std::uint64_t value) {
    promises.begin(0, chunk_of(value));
    if (writer->put(0, chunk_of(value))) promises.acknowledge(0);
  };
  for (const std::uint64_t first : {10, 20}) {
    put(first);
    if (writer->sync(0)) promises.make_durable(0);
    put(first + 1);
    static_cast<void>(writer->commit(0));  // may fail; what was acknowledged stays
    if (writer->sync(0)) promises.make_durable(0);
    put(first + 2);
    if (writer->sync(0)) promises.make_durable(0);
  }
  static_cast<void>(writer->buffer().close());
}

std::string recover_and_compare(const std::shared_ptr<MemoryStore>& crashed,
                                const Promises& promises, bool power_cut) {
  Error error;
  {
    const auto writer = Writer::open(crashed, quiet_options(), &error);
    if (!writer) return "recovery failed: " + error.message;
    if (auto closed = writer->buffer().close(); !closed)
      return "publishing failed: " + closed.error().message;
  }
  const auto found = published(crashed);
  if (!found) return "a shard is damaged: " + found.error().message;
  if (const std::string broken = promises.broken_by(*found, power_cut); !broken.empty())
    return broken;
  for (const std::string& path : crashed->files()) {
    if (path == kLogPath) return "the log was left behind";
  }
  return {};
}

/// Recovers `crashed` and compares; the reason of the first broken promise. The next daemon does
/// so: a thread that holds no lock of the one that crashed.
std::string check(const std::shared_ptr<MemoryStore>& crashed, const Promises& promises,
                  bool power_cut) {
  std::string broken;
  std::thread([&] { broken = recover_and_compare(crashed, promises, power_cut); }).join();
  return broken;
}

struct Outcome {
  std::uint64_t states = 0;
  std::string broken;
};

/// Crashes after every store call: the process dies; the power fails, with every (or 64 random)
/// subset of what was not synced.
using Workload = void (*)(const std::shared_ptr<MemoryStore>&, Promises&);
Outcome crash_everywhere(Sharding sharding, Workload workload,
                         const std::function<void(MemoryStore&)>& prepare) {
  Outcome outcome;
  std::mt19937_64 random(1);
  const auto store = make_store(sharding);
  prepare(*store);
  Promises promises;
  store->after = [&](const std::string& call, const std::string& path) {
    const auto note = [&](const std::string& broken, const char* kind) {
      ++outcome.states;
      if (!broken.empty() && outcome.broken.empty()) {
        outcome.broken = std::string(kind) + " after " + call + " " + path + ": " + broken;
      }
    };
    note(check(store->after_kill(), promises, false), "kill");
    const std::size_t changes = store->unsynced_changes();
    const std::uint64_t subsets = changes <= 6 ? std::uint64_t{1} << changes : 64;
    for (std::uint64_t i = 0; i < subsets; ++i) {
      const std::uint64_t mask = changes <= 6 ? i : random();
      const auto kept = [&](std::size_t change) { return ((mask >> (change % 64)) & 1U) != 0; };
      note(check(store->after_power_cut(kept), promises, true), "power cut");
    }
  };
  workload(store, promises);
  store->after = nullptr;
  EXPECT_EQ(promises.broken_by(*published(store), false), "");
  return outcome;
}

class WriteCrashEach : public ::testing::TestWithParam<Sharding> {};
INSTANTIATE_TEST_SUITE_P(All, WriteCrashEach,
                         ::testing::Values(Sharding::kIndexAtEnd, Sharding::kIndexAtStart,
                                           Sharding::kNested, Sharding::kGzipAround,
                                           Sharding::kNone));

TEST_P(WriteCrashEach, NoCrashBreaksAPromise) {
  for (const Workload workload :
       {run_workload, run_rewriting_workload<0>, run_rewriting_workload<65536>}) {
    const Outcome outcome = crash_everywhere(GetParam(), workload, [](MemoryStore&) {});
    EXPECT_EQ(outcome.broken, "") << name_of(GetParam());
    EXPECT_GT(outcome.states, 500U);
    std::printf("%s: %llu crash states\n", name_of(GetParam()),
                static_cast<unsigned long long>(outcome.states));
  }
}

TEST_P(WriteCrashEach, NoCrashBreaksAPromiseWhereShardsAreCloned) {
  std::uint64_t clones = 0;
  const Outcome outcome = crash_everywhere(GetParam(), run_workload, [&](MemoryStore& store) {
    store.has_clones = true;
    store.fault = [&](const std::string& call, const std::string&) {
      clones += call == "clone" ? 1 : 0;
      return 0;
    };
  });
  EXPECT_EQ(outcome.broken, "") << name_of(GetParam());
  // Where the index is at the end, the old one would be half of these small shards.
  EXPECT_EQ(clones > 0, GetParam() == Sharding::kIndexAtStart);
}

/// Each sync of a file fails once, and the pages that it was to write are lost; then the power
/// fails.
TEST_P(WriteCrashEach, NoFailedSyncBreaksAPromise) {
  std::uint64_t runs = 0;
  bool reached = true;
  for (std::uint64_t failing = 0; reached; ++failing, ++runs) {
    const auto store = make_store(GetParam());
    std::uint64_t syncs = 0;
    reached = false;
    store->fault = [&](const std::string& call, const std::string&) {
      if (call != "sync" || syncs++ != failing) return 0;
      reached = true;
      return EIO;
    };
    Promises promises;
    run_workload(store, promises);
    const auto crashed = store->after_power_cut([](std::size_t) { return false; });
    ASSERT_EQ(check(crashed, promises, true), "") << name_of(GetParam()) << ", sync " << failing;
  }
  EXPECT_GT(runs, 4U);
}

TEST(WriteMutants, NoSyncOfFilesIsCaught) {
  const Outcome outcome =
      crash_everywhere(Sharding::kIndexAtEnd, run_workload,
                       [](MemoryStore& store) { store.pretend_file_sync = true; });
  EXPECT_NE(outcome.broken, "");
}

TEST(WriteMutants, NoSyncOfDirectoriesIsCaught) {
  const Outcome outcome =
      crash_everywhere(Sharding::kIndexAtEnd, run_workload,
                       [](MemoryStore& store) { store.pretend_directory_sync = true; });
  EXPECT_NE(outcome.broken, "");
}

TEST(WriteMutants, ASkippedLogRecordIsCaught) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  Promises promises;
  std::string broken;
  const auto writer = Writer::open(store, quiet_options());
  promises.begin(0, chunk_of(1));
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  promises.acknowledge(0);
  const auto crashed = store->after_kill();
  const std::string log = log_of(*crashed);
  crashed->write_file(kLogPath, log.substr(0, log.size() / 2));  // the put's record is gone
  EXPECT_NE(check(crashed, promises, false), "");
}

TEST(WriteMutants, AnIndexAtTheWrongPlaceIsCaught) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  Promises promises;
  promises.begin(0, chunk_of(1));
  promises.acknowledge(0);
  const auto writer = Writer::open(store, quiet_options());
  ASSERT_TRUE(writer->put(0, chunk_of(1)));
  ASSERT_TRUE(writer->buffer().close());
  const std::string shard = (*store->read_document("a/c/0", 1000))->text;
  store->write_file(
      "a/c/0", shard.substr(8) + shard.substr(0, 8));  // index first, though the array says last
  EXPECT_NE(check(store, promises, false), "");
}

TEST(WriteMutants, ASkippedMergeIsCaught) {
  const auto store = make_store(Sharding::kIndexAtEnd);
  Promises promises;
  for (const std::uint64_t chunk : {0, 1}) {
    const auto writer = Writer::open(store, quiet_options());
    promises.begin(chunk, chunk_of(chunk));
    ASSERT_TRUE(writer->put(chunk, chunk_of(chunk)));
    promises.acknowledge(chunk);
    if (chunk == 1) store->write_file("a/c/0.old", (*store->read_document("a/c/0", 1000))->text);
    ASSERT_TRUE(writer->buffer().close());
  }
  const auto merged = make_store(Sharding::kIndexAtEnd);
  merged->write_file("a/c/0",
                     (*store->read_document("a/c/0.old", 1000))->text);  // as without the merge
  EXPECT_EQ(check(store, promises, false), "");
  EXPECT_NE(check(merged, promises, false), "");
}

/// One chunk is rewritten so often that what is superseded has to go, its shard is committed, and
/// the process is killed while another shard keeps the log in use.
void run_wasteful_workload(const std::shared_ptr<MemoryStore>& store, Promises& promises) {
  WriteOptions options = quiet_options();
  options.most_dead_bytes = 0;
  options.most_dead_records = 1;
  const auto writer = Writer::open(store, std::move(options));
  if (!writer) return;
  const auto put = [&](std::uint64_t chunk, std::uint64_t value) {
    promises.begin(chunk, chunk_of(value));
    if (writer->put(chunk, chunk_of(value))) promises.acknowledge(chunk);
  };
  put(5, 50);
  for (std::uint64_t value = 10; value < 16; ++value) put(0, value);
  static_cast<void>(writer->commit(0));
  put(1, 20);
}

/// Each call to the store fails in turn: alone, with the next ones, or for good; nothing that was
/// acknowledged may be lost.
std::uint64_t fail_everywhere(Sharding sharding, const Workload& workload, int number,
                              std::uint64_t calls) {
  std::uint64_t failing = 0;
  for (bool reached = true; reached; ++failing) {
    const auto store = make_store(sharding);
    std::uint64_t call = 0;
    reached = false;
    store->fault = [&](const std::string&, const std::string&) {
      const bool now = call >= failing && call - failing < calls;
      reached = reached || call == failing;
      ++call;
      return now ? number : 0;
    };
    Promises promises;
    workload(store, promises);
    store->fault = nullptr;
    EXPECT_EQ(check(store->after_kill(), promises, false), "")
        << name_of(sharding) << ", errno " << number << " at " << calls << " calls from " << failing
        << " on";
    if (::testing::Test::HasFailure()) break;
  }
  return failing;
}

TEST_P(WriteCrashEach, NoFailingCallLosesWhatWasAcknowledged) {
  constexpr std::uint64_t kForGood = 1 << 30;
  std::uint64_t runs = 0;
  for (const int number : {EIO, ENOSPC, EDQUOT, EROFS, EACCES}) {
    for (const std::uint64_t calls : {std::uint64_t{1}, kForGood}) {
      runs += fail_everywhere(GetParam(), run_workload, number, calls);
    }
  }
  for (const std::uint64_t calls : {1, 2, 4, 8}) {  // the storage is full for a while
    runs += fail_everywhere(GetParam(), run_wasteful_workload, ENOSPC, calls);
  }
  std::printf("%s: %llu runs with failing calls\n", name_of(GetParam()),
              static_cast<unsigned long long>(runs));
}

/// Random writes, syncs, commits, deaths and power cuts against a model.
TEST(WriteModel, RandomSequencesKeepEveryPromise) {
  const char* wanted = std::getenv("ZARRFS_WRITE_SEQUENCES");
  const std::uint64_t sequences = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
  const char* given_seed = std::getenv("ZARRFS_WRITE_SEED");
  const std::uint64_t seed =
      given_seed != nullptr ? std::strtoull(given_seed, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (replay: ZARRFS_WRITE_SEED), %llu sequences\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(sequences));
  std::mt19937_64 random(seed);
  for (std::uint64_t sequence = 0; sequence < sequences; ++sequence) {
    auto store = make_store(static_cast<Sharding>(random() % 5));
    WriteOptions options = quiet_options();
    options.long_log = random() % 2 * 1000;
    auto writer = Writer::open(store, options);
    std::map<std::uint64_t, std::optional<Bytes>> model;
    Error error;
    for (std::uint64_t step = 0, steps = 1 + random() % 40; step < steps; ++step) {
      const std::uint64_t chunk = random() % 8;
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          model[chunk] = chunk_of(random() % 50);
          ASSERT_TRUE(writer->put(chunk, *model[chunk]));
          break;
        case 3:
          model[chunk] = std::nullopt;
          ASSERT_TRUE(writer->remove(chunk));
          break;
        case 4: ASSERT_TRUE(writer->commit(chunk)); break;
        case 5: ASSERT_TRUE(writer->sync(chunk)); break;
        case 6: {
          const auto closed = writer->buffer().close();
          ASSERT_TRUE(closed) << closed.error().message;
          writer = nullptr;
          writer = Writer::open(store, quiet_options(), &error);
          break;
        }
        default: {
          auto crashed = store->after_kill();
          writer = nullptr;
          store = crashed;
          writer = Writer::open(store, quiet_options(), &error);
        }
      }
      ASSERT_TRUE(writer) << error.message;
      const std::uint64_t looked_at = random() % 8;
      const auto read = writer->read(looked_at);
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_EQ(*read, model[looked_at]) << "sequence " << sequence << " step " << step;
    }
    const auto closed = writer->buffer().close();
    ASSERT_TRUE(closed) << closed.error().message;
    const auto found = published(store);
    ASSERT_TRUE(found) << found.error().message;
    for (const auto& [chunk, value] : model) {
      ASSERT_EQ(found->contains(chunk), value.has_value());
      if (value) {
        ASSERT_EQ(found->at(chunk), *value);
      }
    }
  }
}

}  // namespace
}  // namespace zarrfs::testing
