// One writer a store: who keeps others away, and who does not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "core/log/lock.h"
#include "core/log/log.h"
#include "core/zarr/tree.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

namespace fs = std::filesystem;

class StoreLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    maker_.group("");
    auto store = open_store(maker_.root(), LinkPolicy::kInside);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  [[nodiscard]] std::string own() const { return maker_.root() + "/" + kLogDirectory; }

  StoreMaker maker_;
  std::shared_ptr<Store> store_;
};

/// A process called `name` that has the lock of a directory for itself, until this ends.
class Process {
 public:
  Process(const std::string& name, const std::string& directory) {
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_NAME, name.c_str());
      const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY);
      const char locked = ::flock(descriptor, LOCK_EX) == 0 ? 'y' : 'n';
      if (::write(ready[1], &locked, 1) == 1) ::pause();
      ::_exit(0);
    }
    if (::read(ready[0], &locked_, 1) != 1) std::abort();
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool locked() const { return locked_ == 'y'; }

 private:
  pid_t pid_ = -1;
  char locked_ = 'n';
};

TEST_F(StoreLockTest, IsHeldByOneAndLeavesNothing) {
  {
    const auto first = lock_store(store_);
    ASSERT_TRUE(first) << first.error().message;
    const auto second = lock_store(store_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().fault, Fault::kBusy);
    EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos)
        << second.error().message;
  }
  EXPECT_FALSE(fs::exists(own()));
  EXPECT_TRUE(lock_store(store_));
}

TEST_F(StoreLockTest, IsKeptFromNobodyByAReadersLockOfTheStore) {
  const Process reader("backup", maker_.root());
  ASSERT_TRUE(reader.locked());
  const auto lock = lock_store(store_);
  EXPECT_TRUE(lock) << lock.error().message;
}

TEST_F(StoreLockTest, IsNotTakenBesideAnEarlierVersion) {
  const Process earlier("zarrfs", maker_.root());  // 0.1 locks the root
  ASSERT_TRUE(earlier.locked());
  const auto lock = lock_store(store_);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().fault, Fault::kBusy);
}

TEST_F(StoreLockTest, KeepsAnEarlierVersionAway) {
  const auto lock = lock_store(store_);
  ASSERT_TRUE(lock);
  const Fd root(::open(maker_.root().c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_NE(::flock(root.get(), LOCK_EX | LOCK_NB), 0);
}

class NestedLockTest : public StoreLockTest {
 protected:
  void SetUp() override {
    StoreLockTest::SetUp();
    maker_.group("g").array("g/a").array("g/b");
  }
  [[nodiscard]] Result<StoreLock> lock(const std::string& node) const {
    ZARRFS_TRY(std::shared_ptr<Store> store,
               open_store(join_path(maker_.root(), node), LinkPolicy::kInside));
    return lock_store(store);
  }
};

TEST_F(NestedLockTest, TwoArraysOfAStoreHaveAWriterEach) {
  {
    auto first = std::make_unique<Result<StoreLock>>(lock("g/a"));
    ASSERT_TRUE(*first) << first->error().message;
    const auto second = lock("g/b");
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_FALSE(lock("g/a"));
    first.reset();  // its end leaves the locks that the second shares
    EXPECT_FALSE(lock("g"));
    EXPECT_FALSE(lock(""));
    EXPECT_TRUE(lock("g/a"));
  }
  for (const char* node : {"", "/g", "/g/a", "/g/b"}) {
    EXPECT_FALSE(fs::exists(maker_.root() + node + "/" + kLogDirectory)) << node;
  }
}

TEST_F(NestedLockTest, AnArrayIsNotWrittenBesideTheStoreItLiesIn) {
  const auto store = lock("");
  ASSERT_TRUE(store) << store.error().message;
  const auto array = lock("g/a");
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().fault, Fault::kBusy);
  EXPECT_NE(array.error().message.find(std::to_string(::getpid())), std::string::npos)
      << array.error().message;
}

TEST_F(NestedLockTest, AnArrayIsNotWrittenBesideWhatTheStoreItLiesInHasUnpublished) {
  maker_.text(".zarrfs/early", R"(["g/b"])");
  const auto array = lock("g/a");
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().fault, Fault::kBusy);
  EXPECT_NE(array.error().message.find("recover"), std::string::npos) << array.error().message;
}

TEST_F(NestedLockTest, ANodeIsSharedOnlyIfItWasBeforeAStoreWasMadeAroundIt) {
  const auto node = [&](const std::string& path) -> std::shared_ptr<Store> {
    auto store = open_store(join_path(maker_.root(), path), LinkPolicy::kInside);
    return store ? std::move(*store) : nullptr;
  };
  const auto refused = share_store(node("g/a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBusy);
  EXPECT_NE(refused.error().message.find("lies in the store " + maker_.root() + ": "),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(fs::exists(maker_.root() + "/g/a/" + kLogDirectory));
  EXPECT_TRUE(share_store(node("")));
  fs::create_directories(maker_.root() + "/g/a/" + kLogPath);  // they have left chunks there
  const auto before = share_store(node("g/a"));
  EXPECT_TRUE(before) << before.error().message;
}

TEST_F(StoreLockTest, IsForTheOwnerOnly) {
  const auto lock = lock_store(store_);
  ASSERT_TRUE(lock);
  EXPECT_EQ(fs::status(own()).permissions(), fs::perms::owner_all);
}

TEST_F(StoreLockTest, ALogThatIsSomebodysFileToo) {
  const std::string other = maker_.root() + "/other";
  std::ofstream(other) << "somebody's bytes";
  fs::create_directory(own());
  fs::create_hard_link(other, maker_.root() + "/" + kLogPath);
  const auto log = LogWriter::open(store_, LogContents{});
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("has 2 names"), std::string::npos) << log.error().message;
  std::ifstream file(other);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "somebody's bytes");
}

}  // namespace
}  // namespace zarrfs::test
