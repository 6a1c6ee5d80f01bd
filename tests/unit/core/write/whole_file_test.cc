#include "core/log/whole_file.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/write_fixture.h"

namespace zarrfs::testing {
namespace {

constexpr mode_t kMode = 0666;

Result<void> replace_with(Store& store, const std::string& path, const std::string& text) {
  return replace_file(store, path, kMode, [&](NewFile& file) { return write_text(file, text); });
}

std::string text_of(Store& store, const std::string& path) {
  const auto document = store.read_document(path, 1024);
  return document && *document ? (*document)->text : "";
}

TEST(WholeFile, AKillLeavesTheOldOrTheNewAndNothingForEver) {
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(store->make_directory("g", 0777));
  store->write_file("g/zarr.json", "old");
  std::vector<std::shared_ptr<MemoryStore>> killed;
  store->after = [&](const std::string&, const std::string&) {
    killed.push_back(store->after_kill());
  };
  ASSERT_TRUE(replace_with(*store, "g/zarr.json", "new"));
  ASSERT_GE(killed.size(), 4U);
  for (const auto& left : killed) {
    auto next = WriteBuffer::open(left, quiet_options());
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(left->files(), std::set<std::string>{"g/zarr.json"});
    const std::string text = text_of(*left, "g/zarr.json");
    EXPECT_TRUE(text == "old" || text == "new") << text;
    EXPECT_TRUE((*next)->close());
    next->reset();  // with the lock
    EXPECT_FALSE(*left->status(".zarrfs"));
  }
  EXPECT_EQ(text_of(*killed.back(), "g/zarr.json"), "new");
}

TEST(WholeFile, AFailureLeavesTheOldOne) {
  for (const std::string failing : {"create", "write", "sync", "rename"}) {
    const auto store = std::make_shared<MemoryStore>();
    store->write_file("f", "old");
    store->fault = [&](const std::string& call, const std::string&) {
      return call == failing ? ENOSPC : 0;
    };
    const auto replaced = replace_with(*store, "f", "new");
    ASSERT_FALSE(replaced) << failing;
    EXPECT_EQ(replaced.error().fault, Fault::kNoSpace) << failing;
    EXPECT_EQ(store->files(), std::set<std::string>{"f"}) << failing;
    EXPECT_EQ(text_of(*store, "f"), "old") << failing;
  }
}

TEST(WholeFile, ThePartOfAStoreOnAnotherFileSystemIsWrittenToo) {
  const auto store = std::make_shared<MemoryStore>();
  ASSERT_TRUE(store->make_directory("elsewhere", 0777));
  store->fault = [](const std::string& call, const std::string& path) {
    return call == "rename" && path.starts_with(".zarrfs/") ? EXDEV : 0;
  };
  ASSERT_TRUE(replace_with(*store, "elsewhere/f", "new"));
  EXPECT_EQ(store->files(), std::set<std::string>{"elsewhere/f"});
  EXPECT_EQ(text_of(*store, "elsewhere/f"), "new");
}

}  // namespace
}  // namespace zarrfs::testing
