#include "core/store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <thread>

#include "core/store/store_users.h"
#include "tests/support/counting_store.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::HasSubstr;

Bytes bytes_in(std::string_view text) { return {text.begin(), text.end()}; }

class LocalStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(LinkPolicy links = LinkPolicy::kInside) {
    auto store = open_store(directory.path(), links);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  void link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, directory / name);
  }
  static Fault fault_of_open(Store& store, const std::string& path) {
    const auto file = store.open(path);
    EXPECT_FALSE(file) << path;
    return file ? Fault::kNoData : file.error().fault;
  }

  TempDir directory;
};

TEST_F(LocalStoreTest, KeepsTheFilesOpenedLastWhereNothingChanges) {
  for (const char* path : {"a", "b", "c"}) directory.write(path, path);
  const auto store = open_store(directory.path(), LinkPolicy::kInside, 2);
  ASSERT_TRUE(store);
  const auto first = *(*store)->open("a");
  EXPECT_EQ(*(*store)->open("a"), first);
  EXPECT_EQ(*(*store)->open("none"), nullptr);
  ASSERT_TRUE(*(*store)->open("b") && *(*store)->open("c"));
  EXPECT_NE(*(*store)->open("a"), first) << "a third file is not kept";
  const auto changing = open();
  EXPECT_NE(*changing->open("a"), *changing->open("a"));
}

TEST_F(LocalStoreTest, ReadsAFileAndItsStatus) {
  directory.write("a/c/0", "0123456789");
  const auto store = open();
  const auto file = store->open("a/c/0");
  ASSERT_TRUE(file && *file);
  EXPECT_EQ((*file)->size(), 10U);
  EXPECT_EQ((*file)->read_range({2, 3}), bytes_in("234"));
  EXPECT_EQ((*file)->read_range({10, 0}), Bytes());
  EXPECT_EQ((*file)->identity(), identity_of(**store->status("a/c/0")));
  Bytes buffer(8);
  EXPECT_EQ((*file)->read_at(6, buffer), 4U);
  EXPECT_EQ((*file)->read_at(~std::uint64_t{0}, buffer), 0U);
}

TEST_F(LocalStoreTest, AbsenceIsAValue) {
  directory.write("file", "x");
  const auto store = open();
  for (const std::string path : {"nothing", "no/parent", "file/below", "file/below/deeper"}) {
    const auto file = store->open(path);
    ASSERT_TRUE(file) << path << file.error().message;
    EXPECT_EQ(*file, nullptr) << path;
    EXPECT_EQ(store->status(path)->has_value(), false) << path;
    EXPECT_EQ(store->list(path)->has_value(), false) << path;
    EXPECT_TRUE(store->remove(path)) << path;
    EXPECT_FALSE(store->open_plain(path, O_RDONLY, 0)->valid()) << path;
  }
  EXPECT_FALSE(store->list("file")->has_value());
  EXPECT_FALSE(store->read_document("nothing", 10)->has_value());
}

TEST_F(LocalStoreTest, PathsThatAreNotPlainNamesAreInvalid) {
  const auto store = open(LinkPolicy::kFollow);
  for (const std::string path : {"..", "a/../b", "/etc", "a//b", "a/", "./a", "."}) {
    EXPECT_EQ(fault_of_open(*store, path), Fault::kInvalid) << path;
    EXPECT_EQ(store->create(path, 0644).error().fault, Fault::kInvalid) << path;
  }
  EXPECT_EQ(fault_of_open(*store, std::string("a\0b", 3)), Fault::kInvalid);
}

TEST_F(LocalStoreTest, LinksWithinTheStoreAreFollowed) {
  directory.write("real/c/0", "x");
  link("real", "alias");
  link("../real/c/0", "real/short");
  const auto store = open();
  EXPECT_TRUE(*store->open("alias/c/0"));
  EXPECT_EQ((**store->status("alias")).st_ino, (**store->status("real")).st_ino);
  EXPECT_TRUE(store->list("alias")->has_value());
}

TEST_F(LocalStoreTest, ALinkThatLeavesTheStoreIsDeniedUnlessAllowed) {
  const TempDir outside;
  outside.write("secret", "x");
  link(outside.path(), "out");
  link(outside.path() + "/secret", "leak");
  directory.write("a/x", "x");
  std::filesystem::create_symlink(
      "../../" + std::filesystem::path(outside.path()).filename().string(), directory / "a/up");
  const auto store = open();
  for (const std::string path : {"out/secret", "leak", "a/up/secret", "out/nothing"}) {
    EXPECT_EQ(fault_of_open(*store, path), Fault::kDenied) << path;
    EXPECT_EQ(store->status(path).error().fault, Fault::kDenied) << path;
  }
  EXPECT_EQ(store->create("out/new", 0644).error().fault, Fault::kDenied);
  const auto following = open(LinkPolicy::kFollow);
  EXPECT_TRUE(*following->open("out/secret"));
  EXPECT_TRUE(*following->open("leak"));
  EXPECT_EQ(following->create("out/new", 0644).error().fault, Fault::kDenied);
}

TEST_F(LocalStoreTest, WhatADirectoryBehindALinkLacksIsAbsent) {
  directory.write("plain/below/f", "x");
  link("plain", "way");
  const auto store = open();
  for (const std::string path : {"way/zarr.json", "way/below/zarr.json", "way/none/c/0"}) {
    const auto file = store->open(path);
    ASSERT_TRUE(file) << path << ": " << file.error().message;
    EXPECT_EQ(*file, nullptr) << path;
    const auto status = store->status(path);
    ASSERT_TRUE(status) << path;
    EXPECT_FALSE(*status) << path;
  }
}

TEST_F(LocalStoreTest, WhatAClosedDirectoryBehindALinkLacksIsNotTold) {
  directory.write("closed/below/f", "x");
  std::filesystem::permissions(directory / "closed", std::filesystem::perms::owner_all);
  link("closed", "way");
  const auto store = open();
  users_of(*store)->serve_others();
  for (const std::string path : {"way/f", "way/below/none", "way/below/f"}) {
    EXPECT_EQ(fault_of_open(*store, path), Fault::kDenied) << path;
  }
  const auto directly = store->open("closed/f");
  ASSERT_TRUE(directly) << directly.error().message;
  EXPECT_EQ(*directly, nullptr);
}

TEST_F(LocalStoreTest, ACircleOfLinksIsALoop) {
  link("b", "a");
  link("a", "b");
  EXPECT_EQ(fault_of_open(*open(), "a"), Fault::kLoop);
  EXPECT_EQ(fault_of_open(*open(), "a/c/0"), Fault::kLoop);
}

TEST_F(LocalStoreTest, ALinkThatLeadsNowhereIsNotAbsence) {
  link("gone", "a");
  EXPECT_EQ(fault_of_open(*open(), "a"), Fault::kIo);
  EXPECT_EQ(fault_of_open(*open(), "a/c/0"), Fault::kIo);
  const auto entries = open()->list("");
  ASSERT_TRUE(entries && *entries);
  ASSERT_EQ((*entries)->size(), 1U);
  EXPECT_EQ((*entries)->front().kind, EntryKind::kFile);
}

TEST_F(LocalStoreTest, WhatOthersMakeAndRemoveMeanwhileIsThereOrAbsent) {
  const auto store = open();
  const std::filesystem::path top = directory / "a";
  std::atomic<bool> ended{false};
  std::thread other([&] {
    for (int round = 0; round < 1500; ++round) {
      std::filesystem::create_directories(top / "c" / "0");
      directory.write("a/c/0/1", "chunk");
      std::filesystem::remove_all(top);
      std::filesystem::create_directory(directory / "elsewhere");
      std::filesystem::create_directory_symlink("elsewhere", top);
      std::filesystem::remove(top);
      std::filesystem::remove(directory / "elsewhere");
    }
    ended = true;
  });
  std::string wrong;
  while (!ended && wrong.empty()) {
    for (const char* path : {"a/c/0/1", "a/c/0", "a/c", "a"}) {
      const auto found = store->status(path);
      if (!found) wrong = found.error().message;
    }
  }
  other.join();
  EXPECT_EQ(wrong, "");
}

TEST_F(LocalStoreTest, ADeletedStoreIsNotAnEmptyStore) {
  const auto store = open();
  std::filesystem::remove(directory.path());
  EXPECT_EQ(store->status("a").error().fault, Fault::kIo);
}

TEST_F(LocalStoreTest, PipesAndDirectoriesAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(directory / "folder");
  const auto store = open();
  EXPECT_EQ(fault_of_open(*store, "pipe"), Fault::kUnsupported);
  EXPECT_EQ(fault_of_open(*store, "folder"), Fault::kInvalid);
  EXPECT_EQ(fault_of_open(*store, ""), Fault::kInvalid);
  EXPECT_EQ(store->open_plain("pipe", O_WRONLY, 0).error().fault, Fault::kUnsupported);
  EXPECT_EQ(store->open_plain("folder", O_RDONLY, 0).error().fault, Fault::kInvalid);
  EXPECT_TRUE(store->open_plain("", O_RDONLY | O_DIRECTORY, 0)->valid());
}

TEST_F(LocalStoreTest, ListsKindsAsLinksLeadThem) {
  directory.write("file", "x");
  std::filesystem::create_directory(directory / "folder");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  link("folder", "to-folder");
  link("file", "to-file");
  auto entries = open()->list("");
  ASSERT_TRUE(entries && *entries);
  std::string seen;
  std::sort((*entries)->begin(), (*entries)->end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (const Entry& entry : **entries) {
    seen += entry.name + ":" + std::to_string(static_cast<int>(entry.kind)) + " ";
  }
  EXPECT_EQ(seen, "file:0 folder:1 pipe:2 to-file:0 to-folder:1 ");
}

TEST_F(LocalStoreTest, AFileKeepsItsContentsWhenAnotherIsRenamedOverIt) {
  directory.write("a", "old");
  const auto store = open();
  const auto file = *store->open("a");
  directory.write("b", "newer");
  ASSERT_TRUE(store->rename("b", "a"));
  EXPECT_EQ(file->read_range({0, 3}), bytes_in("old"));
  EXPECT_NE((*store->open("a"))->identity(), file->identity());
}

TEST_F(LocalStoreTest, AFileChangedInPlaceIsStale) {
  directory.write("a", "0123456789");
  const auto store = open();
  const auto file = *store->open("a");
  std::filesystem::resize_file(directory / "a", 4);
  const auto shorter = file->read_range({0, 10});
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().fault, Fault::kStale);
  EXPECT_THAT(shorter.error().message, HasSubstr("a: was changed in place"));
  EXPECT_EQ(file->read_range({0, 2}).error().fault, Fault::kStale);
}

TEST_F(LocalStoreTest, AnOpenFileThatTheFileSystemNoLongerReadsIsStale) {
  directory.write("file", "0123456789");
  const auto store = open();
  const auto file = *store->open("file");
  const Fd unreadable(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  // EBADF: what JuiceFS answers where another machine has removed the file.
  ASSERT_GE(::dup2(unreadable.get(), file->descriptor()), 0);
  const auto read = file->read_range({0, 4});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().fault, Fault::kStale);
  EXPECT_THAT(read.error().message, HasSubstr("file: reading [0, +4)"));
}

TEST_F(LocalStoreTest, ARangePastTheEndIsRefusedBeforeMemoryIsAskedFor) {
  directory.write("a", "0123");
  const auto file = *open()->open("a");
  EXPECT_EQ(file->read_range({2, ~std::uint64_t{0}}).error().fault, Fault::kInvalid);
  EXPECT_EQ(file->read_range({5, 0}).error().fault, Fault::kInvalid);
}

TEST_F(LocalStoreTest, ADocumentLargerThanItsLimitIsDamaged) {
  directory.write("zarr.json", "12345");
  const auto store = open();
  EXPECT_EQ((*store->read_document("zarr.json", 5))->text, "12345");
  const auto refused = store->read_document("zarr.json", 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kDamaged);
  EXPECT_THAT(refused.error().message, HasSubstr("zarr.json: 5 bytes"));
}

TEST_F(LocalStoreTest, WritesUnderATemporaryNameAndRenames) {
  directory.write("source", "0123456789");
  const auto store = open();
  ASSERT_TRUE(store->make_directory("a", 0755));
  EXPECT_EQ(store->make_directory("a", 0755).error().fault, Fault::kExists);
  auto file = store->create("a/.new", 0644);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(store->create("a/.new", 0644).error().fault, Fault::kExists);
  ASSERT_TRUE((*file)->write_at(0, bytes_in("abc")));
  ASSERT_TRUE((*file)->copy_range(**store->open("source"), {4, 3}, 3));
  ASSERT_TRUE((*file)->sync());
  Bytes seen(6);
  EXPECT_EQ((*file)->read_at(0, seen), 6U);
  EXPECT_EQ(seen, bytes_in("abc456"));
  EXPECT_EQ((*file)->status()->st_size, 6);
  ASSERT_TRUE((*file)->truncate(5));
  ASSERT_TRUE(store->rename("a/.new", "a/0"));
  ASSERT_TRUE(store->sync_directory("a"));
  EXPECT_EQ(directory.read("a/0"), "abc45");
  auto again = store->reopen("a/0");
  ASSERT_TRUE(again && *again);
  ASSERT_TRUE((*again)->write_at(5, bytes_in("!")));
  EXPECT_EQ(directory.read("a/0"), "abc45!");
  EXPECT_EQ(*store->reopen("a/1"), nullptr);
  EXPECT_EQ(store->remove_directory("a").error().fault, Fault::kNotEmpty);
  EXPECT_EQ(store->remove("a").error().fault, Fault::kInvalid);
  EXPECT_TRUE(store->remove("a/0"));
  EXPECT_TRUE(store->remove_directory("a"));
  EXPECT_TRUE(store->remove_directory("a"));
}

TEST_F(LocalStoreTest, CopiesWithoutADescriptorAndFindsThatTheSourceEnded) {
  directory.write("source", std::string(3 << 20U, 'x'));
  const auto local = std::shared_ptr<Store>(open());
  CountingStore counting(local);
  const auto from = *counting.open("source");
  auto file = local->create("copy", 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->copy_range(*from, {1, (3 << 20U) - 1}, 0));
  EXPECT_EQ(directory.read("copy"), std::string((3 << 20U) - 1, 'x'));
  for (const auto& source : {from, *local->open("source")}) {
    EXPECT_EQ((*file)->copy_range(*source, {3 << 20U, 1}, 0).error().fault, Fault::kStale);
    EXPECT_EQ((*file)->copy_range(*source, {0, ~std::uint64_t{0}}, 0).error().fault,
              Fault::kTooBig);
  }
}

TEST_F(LocalStoreTest, WritingNeverFollowsALinkInTheLastComponent) {
  directory.write("real", "x");
  link("real", "alias");
  const auto store = open();
  EXPECT_EQ(store->reopen("alias").error().fault, Fault::kLoop);
  EXPECT_EQ(store->create("alias", 0644).error().fault, Fault::kExists);
  EXPECT_EQ(store->open_plain("alias", O_RDWR, 0).error().fault, Fault::kLoop);
  EXPECT_TRUE(store->open_plain("alias", O_RDONLY, 0)->valid());
  EXPECT_TRUE(store->remove("alias"));
  EXPECT_EQ(directory.read("real"), "x");
}

TEST_F(LocalStoreTest, RenamingWithoutADirectoryIsAnError) {
  directory.write("a", "x");
  EXPECT_EQ(open()->rename("a", "no/b").error().fault, Fault::kIo);
  EXPECT_EQ(open()->rename("no", "b").error().fault, Fault::kIo);
  EXPECT_EQ(open()->rename("a", "").error().fault, Fault::kInvalid);
}

TEST_F(LocalStoreTest, AWritableDirectoryHasNoReasonToBeReadOnly) {
  const auto store = open();
  EXPECT_EQ(store->why_read_only(), std::nullopt);
  EXPECT_GT(store->space()->f_blocks, 0U);
}

TEST_F(LocalStoreTest, ADirectoryThatMayNotBeWrittenIsReadOnly) {
  const auto store = open();
  ASSERT_EQ(::chmod(directory.path().c_str(), 0555), 0);
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto reason = store->why_read_only();
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("cannot be written: Permission denied"));
}

TEST(LocalStoreSource, FileUrlsAreDecoded) {
  EXPECT_EQ(local_path("file:///data/a%20b%2Fc"), "/data/a b/c");
  EXPECT_EQ(local_path("file://localhost/data/"), "/data");
  EXPECT_EQ(local_path("file:/data"), "/data");
  EXPECT_EQ(local_path("/data//x/./y/"), "/data/x/y");
  EXPECT_EQ(local_path("/"), "/");
  EXPECT_EQ(local_path("a:b"), std::filesystem::current_path().string() + "/a:b");
}

TEST(LocalStoreSource, OtherSourcesAreRefusedByName) {
  struct Case {
    std::string source;
    Fault fault;
    std::string says;
  };
  for (const Case& one :
       {Case{"ftp://host/a", Fault::kUnsupported, "ftp://"},
        Case{"file://host/a", Fault::kUnsupported, "'host'"},
        Case{"file:///a%2", Fault::kInvalid, "'%'"}, Case{"file:///a%zz", Fault::kInvalid, "'%'"},
        Case{"file:///a%00b", Fault::kInvalid, "NUL"}, Case{"file:///a?b", Fault::kInvalid, "'?'"},
        Case{"file://", Fault::kInvalid, "no path"}, Case{"", Fault::kInvalid, "empty"},
        Case{"/no/such/place", Fault::kInvalid, "no such directory"},
        Case{"/etc/hostname", Fault::kInvalid, "not a directory"}}) {
    const auto store = open_store(one.source, LinkPolicy::kInside);
    ASSERT_FALSE(store) << one.source;
    EXPECT_EQ(store.error().fault, one.fault) << one.source;
    EXPECT_THAT(store.error().message, HasSubstr(one.says)) << one.source;
  }
}

TEST(LocalStoreSource, ParentsAreResolvedThroughLinks) {
  const TempDir directory;
  std::filesystem::create_directories(directory / "x/y");
  std::filesystem::create_symlink("x/y", directory / "link");
  const auto real = std::filesystem::canonical(directory.path()).string();
  EXPECT_EQ(local_path(directory.path() + "/link/.."), real + "/x");
}

TEST(CountingStoreTest, CountsAndFailsOnce) {
  const TempDir directory;
  directory.write("a", "0123");
  CountingStore store(std::shared_ptr<Store>(*open_store(directory.path(), LinkPolicy::kInside)));
  store.calls().fail_once(StoreCall::kReadAt, 2, EIO);
  const auto file = *store.open("a");
  EXPECT_TRUE(file->read_range({0, 1}));
  EXPECT_EQ(file->read_range({0, 1}).error().fault, Fault::kIo);
  EXPECT_TRUE(file->read_range({0, 1}));
  EXPECT_EQ(store.calls().count(StoreCall::kReadAt), 3);
  EXPECT_EQ(store.calls().count(StoreCall::kOpen), 1);
}

}  // namespace
}  // namespace zarrfs
