// Random sequences of operations on views of many kinds of stores, against a model; and the proof
// that the comparison would notice: mutants of the store.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/log/log.h"
#include "tests/model/view_sequence.h"

namespace zarrfs::testing {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ViewModel, RandomSequencesShowAndStoreWhatWasWritten) {
  const std::uint64_t sequences = number_from("ZARRFS_SEQUENCES", 500);
  const std::uint64_t first = number_from("ZARRFS_WRITE_SEED", std::random_device{}());
  std::uint64_t operations = 0;
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    ViewSequence sequence(seed, [](MemoryStore&) {});
    const std::string difference = sequence.run();
    operations += sequence.operations();
    ASSERT_EQ(difference, "") << "replay: ZARRFS_SEQUENCES=1 ZARRFS_WRITE_SEED=" << seed;
  }
  std::printf("seed %llu (replay: ZARRFS_WRITE_SEED), %llu sequences, %llu operations\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(sequences),
              static_cast<unsigned long long>(operations));
}

/// The first difference that some sequences find where `prepare` damages their stores.
std::string difference_with(const std::function<void(MemoryStore&)>& prepare) {
  constexpr std::uint64_t kSequences = 200;
  std::string difference;
  for (std::uint64_t seed = 0; seed < kSequences && difference.empty(); ++seed) {
    difference = ViewSequence(seed, prepare).run();
  }
  return difference;
}

TEST(ViewModelMutants, AnUnchangedStoreIsTaken) {
  EXPECT_EQ(difference_with([](MemoryStore&) {}), "");
}

TEST(ViewModelMutants, ALostLogIsCaught) {
  EXPECT_NE(difference_with([](MemoryStore& store) {
              store.after = [&store](const std::string& call, const std::string& path) {
                if (call == "write" && path == kLogPath) store.write_file(path, "");
              };
            }),
            "");
}

TEST(ViewModelMutants, ALostMergeIsCaught) {
  EXPECT_NE(difference_with([](MemoryStore& store) { store.pretend_copy = true; }), "");
}

TEST(ViewModelMutants, AnIndexAtTheWrongPlaceIsCaught) {
  EXPECT_NE(difference_with([](MemoryStore& store) {
              store.after = [&store](const std::string& call, const std::string& path) {
                if (call != "rename" || path.ends_with(".json")) return;
                const std::string shard = (*store.read_document(path, 10000))->text;
                store.write_file(
                    path, shard.substr(shard.size() / 2) + shard.substr(0, shard.size() / 2));
              };
            }),
            "");
}

}  // namespace
}  // namespace zarrfs::testing
