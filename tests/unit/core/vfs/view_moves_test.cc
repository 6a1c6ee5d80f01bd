// Writes to what is moved or removed through the same view meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "core/base/request.h"
#include "core/vfs/open_view.h"
#include "tests/support/memory_store.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

using testing::MemoryStore;

constexpr std::chrono::milliseconds kLongEnough{200};

class ViewMoves : public ::testing::Test {
 protected:
  ViewMoves() {
    // Consolidated metadata is dropped in the middle of a move: there the test steps in.
    store_->write_file("zarr.json",
                       R"({"zarr_format":3,"node_type":"group","attributes":{},
        "consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{}}})");
    store_->write_file("a/zarr.json", ArrayPlan().document().dump());
    open();
  }

  void open() {
    shown_.reset();
    ViewOptions options;
    options.writing = Writing{};
    auto view = open_view(store_, options);
    ASSERT_TRUE(view) << view.error().message;
    shown_ = std::make_unique<ShownStore>(std::move(*view));
  }
  View& view() { return shown_->view(); }

  std::shared_ptr<OpenFile> create(const std::string& array, const std::string& name) {
    const auto directory = *shown_->find(array);
    auto created = view().create(directory->id, name, O_CREAT | O_WRONLY, 0644);
    EXPECT_TRUE(created);
    return created->file;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::unique_ptr<ShownStore> shown_;
};

TEST_F(ViewMoves, NoChunkIsLostByAMove) {
  const std::string before(8, 'b');
  const std::string after(8, 'a');
  const auto file = create("a", "0.0");
  ASSERT_TRUE(file->write(0, {reinterpret_cast<const std::uint8_t*>(before.data()), 8}));
  ASSERT_TRUE(file->flush());
  ASSERT_TRUE(file->write(0, {reinterpret_cast<const std::uint8_t*>(after.data()), 8}));
  std::future<Result<void>> put;
  store_->after = [&](const std::string& call, const std::string& path) {
    if (call != "rename" || path != "zarr.json" || put.valid()) return;
    put = std::async(std::launch::async, [&] { return file->flush(); });
    put.wait_for(kLongEnough);
  };
  const auto moved = view().rename(kRootNode, "a", kRootNode, "b", true);
  ASSERT_TRUE(moved) << moved.error().message;
  ASSERT_TRUE(put.valid()) << "the move made no pause";
  const Result<void> acknowledged = put.get();
  store_->after = nullptr;
  file->closed();
  ASSERT_TRUE(view().close());
  EXPECT_TRUE(view().unpublished().empty());
  open();
  EXPECT_TRUE(shown_->absent("a"));
  EXPECT_EQ(*shown_->read("b/0.0"), acknowledged ? after : before);
}

TEST_F(ViewMoves, NoChunkIsAcknowledgedInAnArrayThatIsRemoved) {
  const auto file = create("a", "0.0");
  ASSERT_TRUE(file->resize(8));
  for (const char* name : {".zarray", ".zattrs"}) {
    ASSERT_TRUE(view().remove_file((*shown_->find("a"))->id, name));
  }
  std::future<Result<void>> put;
  store_->after = [&](const std::string& call, const std::string& path) {
    if (call != "rename" || path != "zarr.json" || put.valid()) return;
    put = std::async(std::launch::async, [&] { return file->flush(); });
    put.wait_for(kLongEnough);
  };
  const auto removed = view().remove_directory(kRootNode, "a");
  ASSERT_TRUE(removed) << removed.error().message;
  ASSERT_TRUE(put.valid()) << "the removal made no pause";
  EXPECT_FALSE(put.get());
  store_->after = nullptr;
  file->closed();
  ASSERT_TRUE(view().close());
  EXPECT_TRUE(view().unpublished().empty());
  EXPECT_FALSE(*store_->status("a"));
}

// The group may get another name between finding the array in it and moving it.
TEST_F(ViewMoves, AnArrayIsMovedWhileItsGroupIs) {
  store_->write_file("g/zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":{}})");
  store_->write_file("g/a/zarr.json", ArrayPlan().document().dump());
  open();
  const NodeId group = (*shown_->find("g"))->id;
  std::atomic<bool> done{false};
  auto groups = std::async(std::launch::async, [&] {
    for (bool away = false; !done.load(); away = !away) {
      const auto moved =
          view().rename(kRootNode, away ? "h" : "g", kRootNode, away ? "g" : "h", true);
      if (!moved || !*moved) return moved ? Error{Fault::kStale, "absent"} : moved.error();
    }
    return Error{Fault::kStale, ""};
  });
  bool away = false;
  int rounds = 0;
  for (; rounds < 1000; ++rounds) {
    const auto moved = view().rename(group, away ? "b" : "a", group, away ? "a" : "b", true);
    if (!moved && moved.error().fault == Fault::kStale) continue;  // the kernel looks it up again
    EXPECT_TRUE(moved) << "round " << rounds << ": " << moved.error().message;
    EXPECT_TRUE(moved && *moved) << "round " << rounds;
    if (!moved || !*moved) break;
    away = !away;
  }
  done = true;
  EXPECT_EQ(groups.get().message, "");
}

// Two programs agree on who writes a chunk by a lock on "0.0.__lock", which becomes the chunk: who
// waited for it compares the file it opened with the one that has the name now.
TEST_F(ViewMoves, AFileThatIsRenamedWhileItIsOpenedIsNeverTheNextOneOfItsName) {
  const std::string bytes(8, 'h');
  const auto holder = create("a", "0.0.__lock");
  ASSERT_TRUE(holder->write(0, {reinterpret_cast<const std::uint8_t*>(bytes.data()), 8}));
  const NodeId array = (*shown_->find("a"))->id;
  const InodeEntry looked_up = **shown_->find("a/0.0.__lock");
  ASSERT_TRUE(view().make_directory(kRootNode, "d", 0755));  // the array is looked at again
  std::atomic<bool> paused = false;
  std::future<Result<Created>> next;
  store_->opening = [&](const std::string& path) {
    if (path != "a/zarr.json" || paused.exchange(true)) return;
    next = std::async(std::launch::async, [&]() -> Result<Created> {
      EXPECT_TRUE(view().rename(array, "0.0.__lock", array, "0.0", true));
      holder->closed();
      return view().create(array, "0.0.__lock", O_CREAT | O_RDWR, 0644);
    });
    next.wait_for(kLongEnough);
  };
  const auto waiter = view().open_for_writing(looked_up.id, O_RDWR);
  ASSERT_TRUE(next.valid()) << "opening made no pause";
  const auto made = next.get();
  store_->opening = nullptr;
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(waiter) << waiter.error().message;
  const ino_t opened = (**(*waiter)->attributes()).status.st_ino;
  EXPECT_EQ(opened, looked_up.status.st_ino);
  EXPECT_NE(opened, made->found.status.st_ino);
  EXPECT_EQ(*read_all(**waiter), bytes);
  for (const auto& file : {made->file, *waiter}) file->closed();
}

// As above, where it was renamed and closed before: what the waiter opens is that file, nameless
// now, and no write to it is acknowledged.
TEST_F(ViewMoves, AFileThatWasRenamedBeforeItIsOpenedIsOpenedWithoutAName) {
  const std::string bytes(8, 'h');
  const auto holder = create("a", "0.0.__lock");
  ASSERT_TRUE(holder->write(0, {reinterpret_cast<const std::uint8_t*>(bytes.data()), 8}));
  const NodeId array = (*shown_->find("a"))->id;
  const InodeEntry looked_up = **shown_->find("a/0.0.__lock");
  ASSERT_TRUE(view().rename(array, "0.0.__lock", array, "0.0", true));
  holder->closed();
  const auto waiter = view().open_for_writing(looked_up.id, O_RDWR);
  ASSERT_TRUE(waiter) << waiter.error().message;
  EXPECT_EQ((**(*waiter)->attributes()).status.st_ino, looked_up.status.st_ino);
  const auto written = (*waiter)->write(0, {reinterpret_cast<const std::uint8_t*>("lost"), 4});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().fault, Fault::kStale);
  ASSERT_TRUE((*waiter)->flush());
  (*waiter)->closed();
  const auto emptied = view().open_for_writing(looked_up.id, O_WRONLY | O_TRUNC);
  ASSERT_FALSE(emptied);
  EXPECT_EQ(emptied.error().fault, Fault::kStale);
  const auto chunk = view().open_file((**shown_->find("a/0.0")).id);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(*read_all(**chunk), bytes);
  EXPECT_FALSE(*shown_->find("a/0.0.__lock"));
}

// A chunk that is replaced again and again, and tasks that look it up and open it.
class ViewMovesLooks : public ViewMoves {
 protected:
  void replace(char with) {
    const std::string bytes(8, with);
    const auto file = create("a", "0.0.partial");
    ASSERT_TRUE(file->write(0, {reinterpret_cast<const std::uint8_t*>(bytes.data()), 8}));
    file->closed();
    const NodeId array = (*shown_->find("a"))->id;
    ASSERT_TRUE(view().rename(array, "0.0.partial", array, "0.0", true));
  }
  auto open_as(pid_t task, NodeId node) {
    const RequestScope scope(std::nullopt, nullptr, nullptr, task);
    return view().open_file(node);
  }
  /// 0: it is absent.
  NodeId look_as(pid_t task) {
    const NodeId array = (*shown_->find("a"))->id;
    const RequestScope scope(std::nullopt, nullptr, nullptr, task);
    const auto found = *view().find(array, "0.0");
    return found ? found->id : 0;
  }
  void remove() { ASSERT_TRUE(view().remove_file((*shown_->find("a"))->id, "0.0")); }
  /// Task 1 opens what was replaced, and finds nothing when it looks again.
  void look_again_in_vain() {
    replace('1');
    const NodeId first = look_as(1);
    replace('2');
    ASSERT_FALSE(open_as(1, first));
    remove();
    ASSERT_EQ(look_as(1), 0);
  }
};

// The kernel looks a stale name up again, once: what that finds can be opened, whatever took the
// name since. What the first look found cannot, which may be from before a write that was
// acknowledged.
TEST_F(ViewMovesLooks, WhatASecondLookFoundIsOpenedThoughItIsReplaced) {
  replace('1');
  const NodeId first = look_as(1);
  replace('2');
  ASSERT_FALSE(open_as(1, first));
  const NodeId second = look_as(1);
  const NodeId of_another = look_as(2);
  EXPECT_EQ(second, of_another);
  replace('3');
  EXPECT_FALSE(open_as(2, of_another));
  const auto opened = open_as(1, second);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*read_all(**opened), "22222222");
  EXPECT_FALSE(open_as(1, second)) << "it is good for one opening";
  EXPECT_EQ(*shown_->read("a/0.0"), "33333333");
}

// A second look is two: at the entry that the kernel has, and where that finds none, at the name.
TEST_F(ViewMovesLooks, WhatASecondLookFoundWithItsSecondQuestionIsOpenedToo) {
  ASSERT_NO_FATAL_FAILURE(look_again_in_vain());
  replace('3');
  const NodeId found = look_as(1);
  replace('4');
  const auto opened = open_as(1, found);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*read_all(**opened), "33333333");
}

TEST_F(ViewMovesLooks, WhatASecondLookDoesNotFindIsExpectedNoMore) {
  ASSERT_NO_FATAL_FAILURE(look_again_in_vain());
  ASSERT_EQ(look_as(1), 0);
  replace('3');
  const NodeId later = look_as(1);
  replace('4');
  EXPECT_FALSE(open_as(1, later));
}

// Whoever looks a file up sees it by its old name or not at all while it takes another one; a look
// at the name itself is under its lock (ThreadSanitizer tells).
TEST_F(ViewMovesLooks, AFileIsLookedUpWhileItIsRenamed) {
  std::atomic<bool> ended = false;
  std::thread looks([&] {
    while (!ended) static_cast<void>(shown_->find("a/0.0.partial"));
  });
  for (int round = 0; round < 200; ++round) replace(static_cast<char>('0' + round % 10));
  ended = true;
  looks.join();
  EXPECT_EQ(*shown_->read("a/0.0"), "99999999");
}

// What rests is put into the store: who looked it up before opens what stands there now.
TEST_F(ViewMoves, AFileThatIsStoredBeforeItIsOpenedIsLookedUpAgain) {
  const auto first = create("a", "notes.txt");
  ASSERT_TRUE(first->write(0, {reinterpret_cast<const std::uint8_t*>("old"), 3}));
  first->closed();
  const InodeEntry looked_up = **shown_->find("a/notes.txt");
  ASSERT_TRUE(view().publish());
  for (const int flags : {O_WRONLY, O_WRONLY | O_TRUNC}) {
    const auto opened = view().open_for_writing(looked_up.id, flags);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().fault, Fault::kStale);
  }
  EXPECT_TRUE(view().open_for_writing((**shown_->find("a/notes.txt")).id, O_WRONLY));
}

// A chunk that a program opens while another file is renamed to it: the program waits, and what it
// then writes into a part of the chunk leaves the rest as the renamed file has it.
class ViewMovesMeanwhile : public ViewMoves, public ::testing::WithParamInterface<const char*> {
 protected:
  static ByteView bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }
  void write(OpenFile& file, const std::string& text) {
    ASSERT_TRUE(file.write(0, bytes_of(text)));
    ASSERT_TRUE(file.flush());
  }
};

TEST_P(ViewMovesMeanwhile, AChunkThatIsOpenedWhileAFileTakesItsNameIsThatFile) {
  const std::string how = GetParam();
  const auto chunk = create("a", "0.0");
  write(*chunk, "oooooooo");
  chunk->closed();
  ASSERT_TRUE(view().publish());
  store_->write_file("0.0.stored", "nnnnnnnn");
  const NodeId array = (*shown_->find("a"))->id;
  std::shared_ptr<OpenFile> renamed;
  if (how != "stored") {
    renamed = create("a", "0.0.partial");
    write(*renamed, "nnnnnnnn");
    if (how == "closed") renamed->closed();
  }
  const NodeId old = (**shown_->find("a/0.0")).id;
  std::future<Result<std::shared_ptr<OpenFile>>> opened;
  store_->after = [&](const std::string&, const std::string&) {
    if (opened.valid()) return;
    opened = std::async(std::launch::async, [&] { return view().open_for_writing(old, O_WRONLY); });
    opened.wait_for(kLongEnough);
  };
  const auto done = how == "stored" ? view().rename(kRootNode, "0.0.stored", array, "0.0", true)
                                    : view().rename(array, "0.0.partial", array, "0.0", true);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(opened.valid()) << "the rename made no pause";
  const auto late = opened.get();
  store_->after = nullptr;
  ASSERT_TRUE(late) << late.error().message;
  write(**late, "llll");
  (*late)->closed();
  if (how == "open") renamed->closed();
  EXPECT_EQ(*shown_->read("a/0.0"), "llllnnnn");
}

INSTANTIATE_TEST_SUITE_P(Files, ViewMovesMeanwhile, ::testing::Values("open", "closed", "stored"));

}  // namespace
}  // namespace zarrfs::test
