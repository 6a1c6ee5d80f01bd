// Programs that count together in a chunk or document. Each opens it, waits for a lock of it, adds
// one and closes; the kernel's locks are of its node, so these are too: they exclude only if all
// who have the file open at one time got it by one node. Or each counts in a byte of its own,
// without a lock: nobody's is undone by who opened the chunk while another closed it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/request.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

constexpr int kThreads = 6;
constexpr int kRounds = 400;
constexpr int kLooks = 2;  // of open(2): the kernel looks a name up a second time, and no third
constexpr std::size_t kSize = 64;
constexpr std::size_t kDigits = 20;

class LockOfEachNode {
 public:
  std::mutex& of(NodeId node) {
    const std::lock_guard lock(mutex_);
    return locks_[node];
  }

 private:
  std::mutex mutex_;
  std::map<NodeId, std::mutex> locks_;
};

class ViewCounting : public ::testing::Test {
 protected:
  ViewCounting() : shown_(made_store(), writing()) {}

  std::string made_store() {
    ArrayPlan plan;
    plan.shape = {kSize * 8};
    plan.shard_shape = {kSize * 4};
    plan.chunk_shape = {kSize};
    plan.data_type = "uint8";
    plan.chunk_codecs = Json::parse(R"([{"name":"bytes"}])");
    return maker_.array("", plan).root();
  }
  static ViewOptions writing() {
    ViewOptions options;
    options.writing = Writing{};
    options.writing->flush_after = std::chrono::milliseconds(1);
    return options;
  }
  View& view() { return shown_.view(); }

  struct Opened {
    NodeId node = 0;
    std::shared_ptr<OpenFile> file;
  };
  Result<Opened> open_once(const std::string& name) {
    ZARRFS_TRY(const auto found, view().find(kRootNode, name));
    if (!found) return fail(Fault::kInvalid, name + " is absent");
    auto file = view().open_for_writing(found->id, O_RDWR);
    if (file) return Opened{found->id, *file};
    view().forget(found->id, 1);
    return fail(file.error());
  }
  Result<Opened> open(const std::string& name) {
    auto opened = open_once(name);
    for (int look = 1; look < kLooks && !opened; ++look) {
      if (opened.error().fault != Fault::kStale) break;
      opened = open_once(name);
    }
    return opened;
  }

  static Result<void> write_at(OpenFile& file, std::uint64_t offset, const std::string& text) {
    return file.write(offset,
                      ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  void make(const std::string& name, const std::string& text) {
    const auto made = view().create(kRootNode, name, O_RDWR | O_CREAT, 0644);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE(write_at(*made->file, 0, text));
    ASSERT_TRUE(made->file->flush());
    made->file->closed();
  }
  /// One more in the kDigits digits of the file.
  Result<void> count(const std::string& name) {
    ZARRFS_TRY(const Opened opened, open(name));
    const std::lock_guard lock(locks_.of(opened.node));
    ZARRFS_TRY(const std::string text, read_all(*opened.file));
    const std::size_t at = text.find_first_of("0123456789");
    return write_and_close(opened, at, digits(std::stoi(text.substr(at, kDigits)) + 1));
  }
  Result<void> count_alone(int thread) {
    ZARRFS_TRY(const Opened opened, open("0"));
    ZARRFS_TRY(const std::string text, read_all(*opened.file));
    const auto next = static_cast<char>(text[thread] + 1);
    return write_and_close(opened, thread, std::string(1, next));
  }
  static std::string digits(int number) {
    const std::string text = std::to_string(number);
    return std::string(kDigits - text.size(), '0') + text;
  }
  Result<void> write_and_close(const Opened& opened, std::uint64_t offset,
                               const std::string& text) {
    auto written = write_at(*opened.file, offset, text);
    if (written) written = opened.file->flush();
    opened.file->closed();
    view().forget(opened.node, 1);
    return written;
  }
  /// Has `work(thread)` done kRounds times by each of kThreads.
  void run(const std::function<Result<void>(int)>& work) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&work, thread] {
        const RequestScope asked(std::nullopt, nullptr, nullptr, thread + 1);
        for (int round = 0; round < kRounds; ++round) {
          if (const auto done = work(thread); !done) ADD_FAILURE() << done.error().message;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  StoreMaker maker_;
  ShownStore shown_;
  LockOfEachNode locks_;
};

TEST_F(ViewCounting, WhoeverHasAChunkOpenSeesWhatTheOthersWrote) {
  make("0", digits(0) + std::string(kSize - kDigits, ' '));
  run([this](int) { return count("0"); });
  EXPECT_EQ(shown_.read("0")->substr(0, kDigits), digits(kThreads * kRounds));
}

TEST_F(ViewCounting, WhoeverHasADocumentOpenSeesWhatTheOthersWrote) {
  make(".zattrs", R"({"count": ")" + digits(0) + R"("})");
  run([this](int) { return count(".zattrs"); });
  EXPECT_EQ(shown_.json(".zattrs")->at("count"), digits(kThreads * kRounds));
}

TEST_F(ViewCounting, NobodyUndoesWhatAnotherWroteAndClosed) {
  make("0", std::string(kSize, '\0'));
  run([this](int thread) { return count_alone(thread); });
  const std::string counted = *shown_.read("0");
  for (int thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(static_cast<std::uint8_t>(counted[thread]), kRounds % 256);
  }
}

TEST_F(ViewCounting, ADocumentIsTheSameFileForWhoMadeItAndWhoOpensIt) {
  const auto made = view().create(kRootNode, ".zattrs", O_RDWR | O_CREAT, 0644);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(write_at(*made->file, 0, R"({"a": 1})"));
  ASSERT_TRUE(made->file->flush());
  const auto opened = open(".zattrs");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->node, made->found.id);
  opened->file->closed();
  made->file->closed();
}

TEST_F(ViewCounting, WhoAppendsDoesSoWhateverSizeTheKernelBelieves) {
  make("0", "before");
  const auto found = view().find(kRootNode, "0");
  const auto file = view().open_for_writing((*found)->id, O_WRONLY | O_APPEND);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(write_at(**file, 0, " and after"));
  EXPECT_EQ(*read_all(**file), "before and after");
  (*file)->closed();
}

}  // namespace
}  // namespace zarrfs::test
