// Several writers of one directory: what each puts stays, whoever dies, is taken for dead, or comes
// back. SHARED.md has the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "core/log/whole_file.h"
#include "core/shared/shared_store.h"
#include "core/store/layer_store.h"
#include "tests/support/temp_dir.h"
#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Nothing goes on here once a file has its second name and before it is announced.
class EndsBetweenNames final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  Result<void> sync_directory(const std::string& path) override {
    if (path.empty()) return fail(Fault::kIo, "killed");
    return below().sync_directory(path);
  }
};

/// As file systems of several machines do: where another one has removed a file, who has opened it
/// reads nothing any more.
class LosesOpenFiles final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    ZARRFS_TRY(auto file, below().open_for(path, hint));
    return file == nullptr ? file : std::make_shared<OpenFile>(std::move(file));
  }
  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    if (auto other = std::exchange(meanwhile, nullptr)) std::thread(other).join();
    return below().create(path, mode);
  }

  std::function<void()> meanwhile;  ///< What another does once the next shard is begun.

 private:
  class OpenFile final : public File {
   public:
    explicit OpenFile(std::shared_ptr<File> file) : file_(std::move(file)) {}
    [[nodiscard]] const struct stat& status() const override { return file_->status(); }
    [[nodiscard]] Result<struct stat> current_status() const override {
      return file_->current_status();
    }
    Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
      ZARRFS_TRY(const struct stat now, file_->current_status());
      if (now.st_nlink == 0) return fail(Fault::kStale, "removed");
      return file_->read_at(offset, out);
    }

   private:
    const std::shared_ptr<File> file_;
  };
};

/// Another machine makes the directory just after it was looked for.
class FindsTooEarly final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  Result<std::optional<struct stat>> status(const std::string& path) override {
    auto found = below().status(path);
    if (path == "a/c" && found && !*found) ZARRFS_CHECK(below().make_directory(path, 0755));
    return found;
  }
};

/// A disk that is so slow that a writer's next sign of life is due within each step.
class SlowDisk final : public LayerStore {
 public:
  using LayerStore::LayerStore;
  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    take_time();
    return below().create(path, mode);
  }
  Result<void> sync_directory(const std::string& path) override {
    take_time();
    return below().sync_directory(path);
  }
  static constexpr std::chrono::milliseconds kStep{10};

 private:
  static void take_time() {
    std::this_thread::sleep_for(kStep);  // a slow step is what is meant
  }
};

class SharedWriters : public ::testing::TestWithParam<Sharding> {
 protected:
  void SetUp() override {
    const auto made = make_store(GetParam());
    for (const char* name : {"zarr.json", "a/zarr.json"}) {
      directory_.write(name, (*made->read_document(name, 1U << 20U))->text);
    }
  }

  std::shared_ptr<Store> plain() { return *open_store(directory_.path(), LinkPolicy::kInside); }
  std::shared_ptr<SharedStore> sharing() { return sharing(plain()); }
  std::shared_ptr<SharedStore> sharing(std::shared_ptr<Store> below) {
    SharedOptions options;
    options.lease = lease_;
    options.say = [this](bool, const std::string& line) {
      const std::lock_guard lock(said_mutex_);
      said_.push_back(line);
    };
    return make_shared_store(std::move(below), options);
  }
  std::unique_ptr<Writer> writer(WriteOptions options = quiet_options()) {
    Error error;
    auto opened = Writer::open(sharing(), std::move(options), &error);
    EXPECT_NE(opened, nullptr) << error.message;
    return opened;
  }
  Chunks stored() {
    Chunks chunks;
    const auto array = open_array(plain());
    for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
      const std::uint64_t coordinates[] = {chunk};
      const auto found = array->find_chunk(coordinates);
      EXPECT_TRUE(found) << found.error().message;
      if (found && *found) chunks[chunk] = *(*found)->read();
    }
    return chunks;
  }
  /// Names that begin with ".zarrfs", wherever they are.
  std::vector<std::string> own_names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with(".zarrfs")) names.push_back(entry.path());
    }
    return names;
  }
  /// The directories of all writers that came.
  std::vector<fs::path> writers() {
    std::vector<fs::path> found;
    for (const auto& epoch : fs::directory_iterator(directory_ / ".zarrfs/log")) {
      for (const auto& one : fs::directory_iterator(epoch.path() / "writers")) {
        found.push_back(one.path());
      }
    }
    return found;
  }
  /// As another machine would that has not heard of it.
  void take_token(const fs::path& writer) {
    for (const auto& entry : fs::directory_iterator(writer)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("alive-")) fs::rename(entry.path(), writer / "taken-by-nobody");
    }
  }

  TempDir directory_;
  std::chrono::milliseconds lease_{60'000};
  std::mutex said_mutex_;
  std::vector<std::string> said_;
  std::vector<std::string> logged_;
};

TEST_P(SharedWriters, keep_what_the_other_has_put_into_the_same_shard) {
  auto one = writer();
  auto two = writer();
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
    ASSERT_TRUE((chunk % 2 == 0 ? one : two)->put(chunk, chunk_of(chunk)));
  }
  ASSERT_TRUE(one->buffer().commit_below(""));
  ASSERT_TRUE(two->buffer().commit_below(""));
  ASSERT_TRUE(one->put(0, chunk_of(100)));
  ASSERT_TRUE(one->buffer().close());
  EXPECT_FALSE(own_names().empty());
  ASSERT_TRUE(two->buffer().close());
  one.reset();
  two.reset();
  Chunks wanted;
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk)
    wanted[chunk] = chunk_of(chunk == 0 ? 100 : chunk);
  EXPECT_EQ(stored(), wanted);
  EXPECT_THAT(own_names(), IsEmpty());
}

TEST_P(SharedWriters, read_what_they_have_put_themselves_and_what_others_have) {
  const auto one = writer();
  const auto two = writer();
  for (std::uint64_t round = 1; round < 20; ++round) {
    const auto& writes = round % 2 == 0 ? one : two;
    ASSERT_TRUE(writes->put(3, chunk_of(round)));
    ASSERT_TRUE(writes->commit(3));
    EXPECT_EQ(**one->read(3), chunk_of(round));
    EXPECT_EQ(**two->read(3), chunk_of(round));
    EXPECT_EQ(stored().at(3), chunk_of(round));
  }
}

TEST_P(SharedWriters, put_what_one_that_has_died_had_written) {
  auto dead = writer();
  auto alive = writer();
  ASSERT_TRUE(dead->put(1, chunk_of(1)));
  ASSERT_TRUE(dead->put(1, chunk_of(11)));
  ASSERT_TRUE(dead->commit(1));
  ASSERT_TRUE(dead->put(2, chunk_of(2)));
  ASSERT_TRUE(dead->put(7, chunk_of(7)));
  dead.reset();
  ASSERT_TRUE(alive->put(3, chunk_of(3)));
  ASSERT_TRUE(alive->buffer().close());  // who is not the last one leaves the rest to others
  alive.reset();
  auto next = writer();
  ASSERT_TRUE(next->buffer().close());
  next.reset();
  const Chunks wanted = {{1, chunk_of(11)}, {2, chunk_of(2)}, {3, chunk_of(3)}, {7, chunk_of(7)}};
  EXPECT_EQ(stored(), wanted);
  EXPECT_THAT(own_names(), IsEmpty());
}

TEST_P(SharedWriters, that_are_taken_for_dead_come_again_and_lose_nothing) {
  const auto one = writer();
  const auto two = writer();
  ASSERT_TRUE(one->put(1, chunk_of(1)));
  ASSERT_TRUE(one->sync(1));
  ASSERT_TRUE(one->put(2, chunk_of(2)));
  ASSERT_THAT(writers(), SizeIs(2));
  for (const fs::path& folder : writers()) take_token(folder);
  ASSERT_TRUE(one->put(3, chunk_of(3)));
  ASSERT_TRUE(one->sync(3));
  EXPECT_THAT(writers(), SizeIs(3));
  for (const fs::path& folder : writers()) take_token(folder);
  ASSERT_TRUE(one->commit(1));
  ASSERT_TRUE(two->put(4, chunk_of(4)));
  ASSERT_TRUE(two->buffer().close());
  ASSERT_TRUE(one->buffer().close());
  const Chunks wanted = {{1, chunk_of(1)}, {2, chunk_of(2)}, {3, chunk_of(3)}, {4, chunk_of(4)}};
  EXPECT_EQ(stored(), wanted);
}

TEST_P(SharedWriters, are_not_put_again_by_themselves_after_another_has_put_what_they_had) {
  lease_ = std::chrono::milliseconds(200);
  const auto paused = writer();
  ASSERT_TRUE(paused->put(1, chunk_of(1)));
  ASSERT_TRUE(paused->sync(1));
  // As if it had stopped for longer than a lease: it does not know that its log was taken.
  const fs::path folder = writers().at(0);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("alive-")) fs::rename(entry.path(), folder / "taken-by-a-1");
  }
  {
    const auto other = writer();
    while (!fs::exists(folder / "finished")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until its lease is over
      ASSERT_TRUE(other->buffer().look_at_others());
    }
    EXPECT_EQ(stored().at(1), chunk_of(1));
    ASSERT_TRUE(other->put(1, chunk_of(2)));
    ASSERT_TRUE(other->buffer().close());
  }
  EXPECT_EQ(stored().at(1), chunk_of(2));
  ASSERT_TRUE(paused->buffer().close());
  EXPECT_EQ(stored().at(1), chunk_of(2)) << "an older write came over the one that replaced it";
}

TEST_P(SharedWriters, do_not_put_over_newer_chunks_what_a_dead_one_had_written) {
  WriteOptions options = quiet_options();
  options.log = [this](bool, const std::string& line) { logged_.push_back(line); };
  const auto alive = writer(options);
  auto dead = writer();
  for (const std::uint64_t chunk : {1, 2, 3}) {
    ASSERT_TRUE(dead->put(chunk, chunk_of(chunk)));
    ASSERT_TRUE(dead->sync(chunk));
  }
  ASSERT_TRUE(alive->put(3, chunk_of(13)));
  ASSERT_TRUE(alive->commit(3));
  ASSERT_TRUE(dead->put(3, chunk_of(23)));  // it is the last one of all that were written
  dead.reset();
  ASSERT_TRUE(alive->put(1, chunk_of(11)));
  ASSERT_TRUE(alive->commit(1));  // before the log is taken
  ASSERT_TRUE(alive->put(2, chunk_of(12)));
  ASSERT_TRUE(alive->buffer().look_at_others());
  EXPECT_EQ(stored().at(1), chunk_of(11));
  EXPECT_THAT(logged_, Contains(HasSubstr("put 2 chunks that process")));
  EXPECT_THAT(logged_, Contains(HasSubstr("1 chunks that another writer left were written again")));
  ASSERT_TRUE(alive->buffer().close());  // after
  const Chunks wanted = {{1, chunk_of(11)}, {2, chunk_of(12)}, {3, chunk_of(23)}};
  EXPECT_EQ(stored(), wanted);
}

TEST_P(SharedWriters, keep_with_conflicts_fail_what_another_has_put_meanwhile) {
  WriteOptions options = quiet_options();
  options.hold_conflicts = true;
  const auto careful = writer(options);
  const auto other = writer();
  ASSERT_TRUE(careful->put(1, chunk_of(1)));
  ASSERT_TRUE(other->put(1, chunk_of(2)));
  ASSERT_TRUE(other->commit(1));
  EXPECT_FALSE(careful->buffer().close());
  EXPECT_THAT(careful->buffer().left(), SizeIs(1));
  EXPECT_EQ(stored().at(1), chunk_of(2));
  ASSERT_TRUE(other->buffer().close());
  EXPECT_FALSE(own_names().empty()) << "the chunk that was kept back is gone";
}

TEST_P(SharedWriters, put_what_waited_for_a_document_once_it_can_be_read) {
  const std::string document = directory_.read("a/zarr.json");
  for (const bool is_gone : {false, true}) {
    auto dead = writer();
    ASSERT_TRUE(dead->put(1, chunk_of(is_gone ? 2 : 1)));
    ASSERT_TRUE(dead->sync(1));
    dead.reset();
    if (is_gone) {
      fs::remove(directory_ / "a/zarr.json");
    } else {
      directory_.write("a/zarr.json", document.substr(0, document.size() / 2));
    }
    for (int round = 0; round < 2; ++round) {  // as often as somebody comes
      auto comes = sharing();
      Error error;
      const auto buffer = WriteBuffer::open(comes, quiet_options());
      ASSERT_TRUE(buffer) << buffer.error().message;
      ASSERT_THAT((*buffer)->left(), SizeIs(1));
      EXPECT_THAT((*buffer)->left()[0].reason, HasSubstr("writes of another writer to its shard"));
      EXPECT_TRUE((*buffer)->close());
      EXPECT_FALSE(own_names().empty());
    }
    directory_.write("a/zarr.json", document);
    auto next = writer();
    EXPECT_THAT(next->buffer().left(), IsEmpty());
    ASSERT_TRUE(next->buffer().close());
    next.reset();
    EXPECT_EQ(stored().at(1), chunk_of(is_gone ? 2 : 1));
    EXPECT_THAT(own_names(), IsEmpty());
  }
}

TEST_P(SharedWriters, put_what_they_can_of_a_log_and_the_rest_when_its_shard_is_mended) {
  const std::vector<std::uint64_t> chunks = {1, 7};
  auto first = writer();
  for (const std::uint64_t chunk : chunks) ASSERT_TRUE(first->put(chunk, chunk_of(chunk)));
  ASSERT_TRUE(first->buffer().close());
  first.reset();
  auto dead = writer();
  for (const std::uint64_t chunk : chunks) {
    ASSERT_TRUE(dead->put(chunk, chunk_of(10 + chunk)));
    ASSERT_TRUE(dead->sync(chunk));
  }
  dead.reset();
  const bool has_index = GetParam() != Sharding::kNone;
  const std::string shard = has_index ? "a/c/0" : "a/c/1";
  const std::string whole = directory_.read(shard);
  fs::resize_file(directory_ / shard, 3);
  auto next = writer();
  EXPECT_THAT(next->buffer().left(), SizeIs(has_index ? 1 : 0));
  ASSERT_TRUE(next->buffer().close());
  next.reset();
  if (has_index) directory_.write(shard, whole);
  EXPECT_EQ(stored().at(7), chunk_of(17)) << "the other shard";
  next = writer();
  EXPECT_THAT(next->buffer().left(), IsEmpty());
  ASSERT_TRUE(next->buffer().close());
  next.reset();
  EXPECT_EQ(stored(), (Chunks{{1, chunk_of(11)}, {7, chunk_of(17)}}));
  EXPECT_THAT(own_names(), IsEmpty());
}

TEST_P(SharedWriters, drop_bytes_that_are_no_chunk_once_it_was_written_again) {
  auto dead = writer();
  ASSERT_TRUE(dead->put(1, chunk_of(9), true));
  dead.reset();
  auto next = writer();
  ASSERT_THAT(next->buffer().left(), SizeIs(1));
  EXPECT_THAT(next->buffer().left()[0].reason, HasSubstr("cannot be a chunk"));
  ASSERT_TRUE(next->put(1, chunk_of(1)));
  ASSERT_TRUE(next->buffer().close());
  EXPECT_THAT(next->buffer().left(), IsEmpty());
  next.reset();
  EXPECT_EQ(stored(), (Chunks{{1, chunk_of(1)}}));
  EXPECT_THAT(own_names(), IsEmpty());
}

TEST_P(SharedWriters, and_one_that_writes_alone_exclude_each_other) {
  Error error;
  {
    const auto one = writer();
    EXPECT_EQ(Writer::open(plain(), quiet_options(), &error), nullptr);
    EXPECT_EQ(error.fault, Fault::kBusy);
    ASSERT_TRUE(one->buffer().close());
  }
  const auto alone = Writer::open(plain(), quiet_options());
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(Writer::open(sharing(), quiet_options(), &error), nullptr);
  EXPECT_EQ(error.fault, Fault::kBusy);
}

TEST_P(SharedWriters, come_again_after_they_found_the_store_busy) {
  const auto store = sharing();
  Error error;
  {
    const auto alone = Writer::open(plain(), quiet_options());
    EXPECT_EQ(Writer::open(store, quiet_options(), &error), nullptr);
    EXPECT_EQ(error.fault, Fault::kBusy);
    ASSERT_TRUE(alone->buffer().close());
  }
  auto dead = writer();
  ASSERT_TRUE(dead->put(1, chunk_of(1)));
  dead.reset();
  const auto later = Writer::open(store, quiet_options(), &error);
  ASSERT_NE(later, nullptr) << error.message;
  EXPECT_EQ(stored().at(1), chunk_of(1));
  ASSERT_TRUE(later->buffer().close());
}

TEST_P(SharedWriters, do_not_begin_over_what_one_that_wrote_alone_has_left) {
  {
    const auto alone = Writer::open(plain(), quiet_options());
    ASSERT_TRUE(alone->put(1, chunk_of(1)));
  }
  Error error;
  EXPECT_EQ(Writer::open(sharing(), quiet_options(), &error), nullptr);
  EXPECT_THAT(error.message, HasSubstr("zarrfs recover"));
}

TEST_P(SharedWriters, leave_to_the_next_one_an_epoch_that_was_not_closed_to_its_end) {
  for (int round = 0; round < 5; ++round) {
    auto killed = writer();
    ASSERT_TRUE(killed->put(1, chunk_of(10 + static_cast<std::uint64_t>(round))));
    killed.reset();
  }
  auto last = writer();
  ASSERT_TRUE(last->buffer().close());
  last.reset();
  EXPECT_EQ(stored().at(1), chunk_of(14));
  EXPECT_THAT(own_names(), IsEmpty());
}

TEST_P(SharedWriters, are_not_taken_for_dead_where_nobody_else_is) {
  lease_ = SlowDisk::kStep;  // a sign of life each quarter of it
  Error error;
  const auto only =
      Writer::open(sharing(std::make_shared<SlowDisk>(plain())), quiet_options(), &error);
  ASSERT_NE(only, nullptr) << error.message;
  ASSERT_TRUE(only->put(1, chunk_of(1)));
  ASSERT_TRUE(only->sync(1));
  ASSERT_TRUE(only->commit(1));
  ASSERT_TRUE(only->buffer().close());
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(stored(), (Chunks{{1, chunk_of(1)}}));
}

TEST_P(SharedWriters, change_documents_one_after_the_other) {
  const auto one = sharing();
  const auto two = sharing();
  ASSERT_TRUE(one->begin({}));
  ASSERT_TRUE(two->begin({}));
  const auto add = [](Store& store, char letter) {
    return again_where_stale([&]() -> Result<void> {
      ZARRFS_TRY(const auto present, store.read_document("b.json", 1U << 20U));
      const std::string text = (present ? present->text : "") + letter;
      return replace_known_file(store, "b.json", 0644,
                                present ? identity_of(present->status) : FileIdentity{},
                                [&](NewFile& file) { return write_text(file, text); });
    });
  };
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(add(*two, 'b'));
  });
  for (int i = 0; i < 20; ++i) {
    const auto added = add(*one, 'a');
    EXPECT_TRUE(added) << added.error().message;
  }
  other.join();
  const std::string text = directory_.read("b.json");
  EXPECT_EQ(std::count(text.begin(), text.end(), 'a'), 20);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'b'), 20);
}

TEST_P(SharedWriters, leave_no_second_name_of_a_document_that_was_not_announced) {
  const auto last = sharing();
  ASSERT_TRUE(last->begin({}));
  {
    SharedOptions options;
    options.say = [](bool, const std::string&) {};
    const auto killed = make_shared_store(std::make_shared<EndsBetweenNames>(plain()), options);
    ASSERT_TRUE(killed->begin({}));
    const auto put = replace_known_file(*killed, "b.json", 0644, {},
                                        [&](NewFile& file) { return write_text(file, "{}"); });
    ASSERT_FALSE(put);
    EXPECT_THAT(put.error().message, HasSubstr("killed"));
  }
  EXPECT_THAT(own_names(), Contains(HasSubstr(".zarrfs-kept-")));
  EXPECT_THAT(own_names(), Contains(HasSubstr("/.zarrfs-next-")));
  const auto taken = last->take(*last->others());
  ASSERT_TRUE(taken);
  ASSERT_THAT(*taken, SizeIs(1));
  ASSERT_TRUE(last->finish(taken->front(), false));
  ASSERT_TRUE(last->leave(false, [](const auto&) -> Result<void> { return {}; }));
  EXPECT_THAT(own_names(), ElementsAre(directory_ / ".zarrfs"));
  EXPECT_FALSE(fs::exists(directory_ / "b.json"));
}

TEST_P(SharedWriters, keep_the_shard_where_its_last_chunk_is_removed) {
  const auto one = writer();
  ASSERT_TRUE(one->put(1, chunk_of(1)));
  ASSERT_TRUE(one->commit(1));
  if (GetParam() == Sharding::kNone) {
    const auto removed = one->remove(1);
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().fault, Fault::kReadOnly);
    return;
  }
  ASSERT_TRUE(one->remove(1));
  ASSERT_TRUE(one->buffer().close());
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_TRUE(fs::exists(directory_ / "a/c/0"));
}

TEST_P(SharedWriters, begin_again_where_another_removes_the_shard_that_they_copy) {
  const auto below = std::make_shared<LosesOpenFiles>(plain());
  const auto one = Writer::open(make_shared_store(below, {}), quiet_options());
  ASSERT_NE(one, nullptr);
  const auto two = writer();
  ASSERT_TRUE(one->put(0, chunk_of(0)));
  ASSERT_TRUE(one->commit(0));
  ASSERT_TRUE(two->put(1, chunk_of(1)));
  ASSERT_TRUE(one->put(2, chunk_of(2)));
  below->meanwhile = [&] { EXPECT_TRUE(two->commit(1)); };
  const auto committed = one->commit(2);
  EXPECT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(below->meanwhile, nullptr);
  EXPECT_EQ(stored(), (Chunks{{0, chunk_of(0)}, {1, chunk_of(1)}, {2, chunk_of(2)}}));
}

TEST_P(SharedWriters, see_the_directory_that_another_machine_makes_meanwhile) {
  SharedOptions options;
  options.caches = std::chrono::milliseconds(1);
  options.say = [](bool, const std::string&) {};
  const auto store = make_shared_store(std::make_shared<FindsTooEarly>(plain()), options);
  ASSERT_TRUE(store->begin({}));
  const auto found = store->status("a/c");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(*found);
  EXPECT_TRUE(S_ISDIR((*found)->st_mode));
}

INSTANTIATE_TEST_SUITE_P(each_layout, SharedWriters,
                         ::testing::Values(Sharding::kIndexAtEnd, Sharding::kIndexAtStart,
                                           Sharding::kNested, Sharding::kGzipAround,
                                           Sharding::kNone),
                         [](const auto& one) {
                           std::string name = name_of(one.param);
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace zarrfs::testing
