// Writing to a server that another writer writes to as well: which bytes a writer knows for its own
// again, after a put whose answer was lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/hash.h"
#include "core/log/write_history.h"
#include "core/store/conditional_writer.h"
#include "core/store/layer_store.h"
#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A MemoryStore whose shards are put on conditions, with notes.
class Server final : public LayerStore, public ConditionalWriter {
 public:
  explicit Server(std::shared_ptr<MemoryStore> store) : LayerStore(store), store_(store) {}

  /// Puts are done, and the answer is lost.
  bool loses_answers = false;
  /// Before so many puts, another writer puts chunk 1.
  int comes_second = 0;

  ConditionalWriter* conditional_writer() override { return this; }
  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      const auto made = store_->make_directory(path.substr(0, at), 0777);
      if (!made && made.error().fault != Fault::kExists) return fail(made.error());
    }
    return store_->create(path, mode);
  }
  Result<void> begin(Say /*say*/) override { return {}; }
  Result<std::optional<Standing>> look(const std::string& path) override {
    ZARRFS_TRY(const auto status, store_->status(path));
    if (!status) return std::nullopt;
    return Standing{identity_of(*status), versions_[path], notes_[path]};
  }
  Result<std::string> shown_version(const std::string& path) override { return versions_[path]; }
  bool away() override { return false; }
  std::vector<std::string> waiting() override { return {}; }
  Result<FileIdentity> put(const std::string& from, const std::string& path,
                           const FileIdentity& expected, const std::string& note) override {
    if (comes_second-- > 0) {
      std::thread([&] { put_by_another(1, chunk_of(100 + comes_second)); }).join();
    }
    ZARRFS_TRY(const auto standing, look(path));
    if (expected != (standing ? standing->identity : FileIdentity{})) {
      return fail(Fault::kStale, path + ": another version");
    }
    stand(path, text_of(*store_, from), note);
    if (loses_answers) return fail(Fault::kIo, "no answer");
    return (*look(path))->identity;
  }
  Result<void> remove_object(const std::string& path, const FileIdentity& /*expected*/) override {
    return store_->remove(path);
  }

  /// Another writer puts one chunk, over what stands there.
  void put_by_another(std::uint64_t chunk, const Bytes& bytes) {
    const auto other = make_store(Sharding::kIndexAtEnd);
    other->write_file(kShard, text_of(*store_, kShard));
    const auto writer = Writer::open(other, quiet_options());
    ASSERT_TRUE(writer->put(chunk, bytes));
    ASSERT_TRUE(writer->buffer().close());
    WriteHistory history = WriteHistory::parse(notes_[kShard]);
    history.add({std::string(32, 'b'), 1, digest_of(versions_[kShard]), std::set{chunk}});
    stand(kShard, text_of(*other, kShard), history.text());
  }

  static constexpr const char* kShard = "a/c/0";

 private:
  static std::string text_of(Store& store, const std::string& path) {
    const auto file = *store.open(path);
    const Bytes bytes = *file->read_range({0, file->size()});
    return {bytes.begin(), bytes.end()};
  }
  void stand(const std::string& path, const std::string& text, const std::string& note) {
    store_->write_file(path, text);
    versions_[path] = "version " + std::to_string(++count_);
    notes_[path] = note;
  }

  const std::shared_ptr<MemoryStore> store_;
  std::uint64_t count_ = 0;
  std::map<std::string, std::string> versions_;
  std::map<std::string, std::string> notes_;
};

class WriteServer : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteOptions options = quiet_options();
    options.most_dead_bytes = 64;
    options.log = [this](bool, const std::string& line) {
      if (line.find("another writer") != std::string::npos) told_.push_back(line);
    };
    writer_ = Writer::open(server_, options);
    ASSERT_TRUE(writer_->put(2, chunk_of(2)));
    ASSERT_TRUE(writer_->commit(0));
  }
  void put_without_an_answer(std::uint64_t chunk, const Bytes& bytes) {
    ASSERT_TRUE(writer_->put(chunk, bytes));
    server_->loses_answers = true;
    ASSERT_FALSE(writer_->commit(0));
    server_->loses_answers = false;
  }
  /// Writes chunk 3 until the drafts have gone on in another successor; the last value is `value`.
  void renew(std::uint64_t value) {
    const auto before = store_->files();
    for (std::uint64_t turn = 0; turn < 100; ++turn) {
      ASSERT_TRUE(writer_->put(3, chunk_of(1000 + turn)));
    }
    ASSERT_NE(store_->files(), before);
    ASSERT_TRUE(writer_->put(3, chunk_of(value)));
  }

  std::shared_ptr<MemoryStore> store_ = make_store(Sharding::kIndexAtEnd);
  std::shared_ptr<Server> server_ = std::make_shared<Server>(store_);
  std::vector<std::string> told_;
  std::unique_ptr<Writer> writer_;
};

TEST_F(WriteServer, KnowsAPutAgainUnderThatOfAnother) {
  put_without_an_answer(0, chunk_of(10));
  server_->put_by_another(1, chunk_of(11));
  ASSERT_TRUE(writer_->put(0, chunk_of(20)));
  ASSERT_TRUE(writer_->commit(0));
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(20)}, {1, chunk_of(11)}, {2, chunk_of(2)}}));
}

TEST_F(WriteServer, TriesAgainHoweverOftenOthersComeFirst) {
  ASSERT_TRUE(writer_->put(0, chunk_of(10)));
  server_->comes_second = 10;
  ASSERT_TRUE(writer_->commit(0));
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(10)}, {1, chunk_of(100)}, {2, chunk_of(2)}}));
}

TEST_F(WriteServer, KnowsItAgainWhenItsDraftsHaveGoneOn) {
  put_without_an_answer(0, chunk_of(10));
  server_->put_by_another(1, chunk_of(11));
  renew(30);
  ASSERT_TRUE(writer_->put(0, chunk_of(20)));
  ASSERT_TRUE(writer_->commit(0));
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(*published(store_),
            (Chunks{{0, chunk_of(20)}, {1, chunk_of(11)}, {2, chunk_of(2)}, {3, chunk_of(30)}}));
}

TEST_F(WriteServer, PutsNoOlderChunkOverANewerOneWhenItsDraftsHaveGoneOn) {
  put_without_an_answer(0, chunk_of(10));
  server_->put_by_another(0, chunk_of(11));
  renew(30);
  ASSERT_TRUE(writer_->commit(0));
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(11)}, {2, chunk_of(2)}, {3, chunk_of(30)}}));
}

TEST_F(WriteServer, TellsWhatItReallyOverwrites) {
  put_without_an_answer(0, chunk_of(10));
  server_->put_by_another(0, chunk_of(11));
  server_->put_by_another(3, chunk_of(12));
  renew(30);
  ASSERT_TRUE(writer_->commit(0));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("chunk 3 was written by another writer as well")));
  EXPECT_EQ(*published(store_), (Chunks{{0, chunk_of(11)}, {2, chunk_of(2)}, {3, chunk_of(30)}}));
}

}  // namespace
}  // namespace zarrfs::testing
