// Files that became documents, and documents that were replaced, to a kernel that still knows them
// by their nodes.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"
#include "tests/support/temp_dir.h"

namespace zarrfs::test {
namespace {

const std::string kText = R"({"written": true})";

/// A second name of a file, by which a later file gets its inode number: other file systems give
/// the number of a removed file to the next one.
class NumberKeeper {
 public:
  explicit NumberKeeper(const std::filesystem::path& file) : kept_(beside_ / "kept") {
    std::filesystem::create_hard_link(file, kept_);
  }
  void give_to(const std::filesystem::path& file) const { std::filesystem::rename(kept_, file); }

 private:
  TempDir beside_;
  const std::filesystem::path kept_;
};

class ViewReplaced : public ::testing::Test {
 protected:
  ViewReplaced() : shown_(maker_.group("").root(), writing()) {}

  static ViewOptions writing() {
    ViewOptions options;
    options.format = ViewFormat::kV2;
    options.profile = "generic";
    options.writing = Writing{};
    return options;
  }
  View& view() { return shown_.view(); }
  [[nodiscard]] std::filesystem::path stored(const std::string& name) const {
    return std::filesystem::path(maker_.root()) / name;
  }

  NodeId write(NodeId directory, const std::string& name, const std::string& text) {
    const auto made = shown_.write(directory, name, text);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(0);
  }

  /// `node` stands for nothing of its own any more, and leads to the document at `path`.
  void expect_led_to(const std::string& path, NodeId node) {
    EXPECT_EQ(view().attributes(node).error().fault, Fault::kStale);
    EXPECT_EQ(view().open_file(node).error().fault, Fault::kStale);
    EXPECT_EQ(view().open_for_writing(node, O_WRONLY).error().fault, Fault::kStale);
    const auto now = view().attributes_by_now(node);
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_EQ(now->id, node);
    EXPECT_TRUE(now->uncached);
    EXPECT_EQ(now->status.st_ino, (*shown_.find(path))->status.st_ino);
    EXPECT_EQ(now->status.st_size, (*shown_.find(path))->status.st_size);
  }

  StoreMaker maker_;
  ShownStore shown_;
};

TEST_F(ViewReplaced, AFileThatIsRenamedToADocumentIsNoOtherFileOfItsNumber) {
  const NodeId partial = write(kRootNode, ".zattrs.partial", kText);
  const NumberKeeper number(stored(".zattrs.partial"));
  ASSERT_TRUE(*view().rename(kRootNode, ".zattrs.partial", kRootNode, ".zattrs", true));
  number.give_to(stored(".zattrs.partial"));
  EXPECT_NE((*shown_.find(".zattrs.partial"))->id, partial);
  expect_led_to(".zattrs", partial);
}

TEST_F(ViewReplaced, AttributesThatCameBeforeTheirNodeAreNoOtherFileOfTheirNumber) {
  const NodeId directory = view().make_directory(kRootNode, "g", 0755)->id;
  const NodeId early = write(directory, ".zattrs", kText);
  const NumberKeeper number(stored("g/.zattrs"));
  write(directory, ".zgroup", R"({"zarr_format": 2})");
  ASSERT_FALSE(std::filesystem::exists(stored("g/.zattrs")));
  number.give_to(stored("other"));
  EXPECT_NE((*shown_.find("other"))->id, early);
  expect_led_to("g/.zattrs", early);
}

TEST_F(ViewReplaced, WhoCannotAskByNameIsToldWhatAReplacedFileIsByNow) {
  write(kRootNode, ".zattrs", R"({"written": false, "before": 1})");
  const NodeId document = (*shown_.find(".zattrs"))->id;
  const NodeId consolidated = (*shown_.find(".zmetadata"))->id;
  write(kRootNode, ".zattrs", kText);
  for (const auto& [name, node] : {std::pair(".zattrs", document), {".zmetadata", consolidated}}) {
    EXPECT_EQ(view().attributes(node).error().fault, Fault::kStale);
    const auto now = view().attributes_by_now(node);
    ASSERT_TRUE(now) << name << ": " << now.error().message;
    EXPECT_EQ(now->status.st_size, (*shown_.find(name))->status.st_size);
  }
  const NodeId plain = write(kRootNode, "plain", "text");
  write(kRootNode, "longer", "a longer text");
  ASSERT_TRUE(*view().rename(kRootNode, "longer", kRootNode, "plain", true));
  EXPECT_EQ(view().attributes_by_now(plain)->status.st_size, 13);
  ASSERT_TRUE(*view().remove_file(kRootNode, "plain"));
  EXPECT_EQ(view().attributes_by_now(plain).error().fault, Fault::kStale);
  ASSERT_TRUE(view().make_directory(kRootNode, "plain", 0755));
  const auto directory = view().attributes_by_now(plain);  // its number may be that of the file
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().fault, Fault::kStale);
}

TEST_F(ViewReplaced, AFileThatIsBeingMadeLeadsToTheDocumentThatItBecame) {
  const NodeId directory = view().make_directory(kRootNode, "g", 0755)->id;
  const NodeId made = write(directory, ".zgroup", R"({"zarr_format": 2})");
  EXPECT_EQ(view().attributes(made).error().fault, Fault::kStale);
  EXPECT_EQ(view().attributes_by_now(made)->status.st_ino,
            (*shown_.find("g/.zgroup"))->status.st_ino);
}

}  // namespace
}  // namespace zarrfs::test
