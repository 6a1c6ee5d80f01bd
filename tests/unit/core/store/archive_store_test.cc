// Archives that are being made: what their records say, and what may be read of them meanwhile.
#include "core/store/zip/archive_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/store/local_file.h"
#include "core/store/zip/zip_directory.h"
#include "core/store/zip/zip_store.h"
#include "core/store/zip/zip_writer.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

class ArchiveStoreTest : public ::testing::Test {
 protected:
  TempDir place_;
  std::shared_ptr<ArchiveStore> archive_ = make_archive_store(
      Fd(::open(path().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)), "a.zip", place_.path());

  [[nodiscard]] std::string path() const { return place_ / "a.zip"; }

  Result<void> put(const std::string& name, const std::string& text) {
    ZARRFS_TRY(const auto file, archive_->create(".new", 0600));
    ZARRFS_CHECK(file->write_at(0, bytes_of(text)));
    return archive_->rename(".new", name);
  }

  std::shared_ptr<File> whole() {
    Fd file(::open(path().c_str(), O_RDONLY));
    struct stat status {};
    EXPECT_EQ(::fstat(file.get(), &status), 0);
    return make_local_file(std::move(file), status, "a.zip");
  }

  static std::vector<ZipEntry> entries_in(const File& file) {
    auto entries =
        read_zip_directory(file.size(), [&](ByteRange range) { return file.read_range(range); });
    EXPECT_TRUE(entries) << entries.error().message;
    return entries ? *entries : std::vector<ZipEntry>();
  }

  static std::string text_in(Store& store, const std::string& name) {
    const auto document = store.read_document(name, kGiB);
    if (!document) return document.error().message;
    return *document ? (*document)->text : "absent";
  }
};

TEST_F(ArchiveStoreTest, HoldsWhatWasPutInThatOrder) {
  for (const char* name : {"zarr.json", "b/zarr.json", "a/zarr.json", "a/c/0", "empty"}) {
    ASSERT_TRUE(put(name, name[0] == 'e' ? "" : std::string("text of ") + name));
  }
  ASSERT_TRUE(archive_->finish("a comment"));
  const auto file = whole();
  std::vector<std::string> names;
  std::uint64_t before = 0;
  for (const ZipEntry& entry : entries_in(*file)) {
    names.push_back(entry.name);
    EXPECT_TRUE(entry.header_offset == 0 || entry.header_offset > before);
    before = entry.header_offset;
    const std::string text = entry.name[0] == 'e' ? "" : "text of " + entry.name;
    EXPECT_EQ(entry.checksum, ::crc32_z(0, bytes_of(text).data(), text.size()));
    EXPECT_EQ(entry.method, 0);
    EXPECT_GT(entry.modified_ns, 1'700'000'000'000'000'000);
  }
  EXPECT_THAT(names, ElementsAre("zarr.json", "b/zarr.json", "a/zarr.json", "a/c/0", "empty"));
  const auto store = open_zip_store(file, "a.zip", nullptr, "");
  ASSERT_TRUE(store);
  EXPECT_EQ(text_in(**store, "a/c/0"), "text of a/c/0");
  EXPECT_EQ(text_in(**store, "empty"), "");
  EXPECT_TRUE(place_.read("a.zip").ends_with("a comment"));
  EXPECT_THAT(place_.read("a.zip"), HasSubstr("PK\x06\x06")) << "zip64 whatever the size";
}

/// The kernel asks for parts of a file in any order, and for more than one at once.
TEST_F(ArchiveStoreTest, WhatWasReadInAnyOrderIsCompared) {
  const std::string text = "0123456789abcdef";
  ASSERT_TRUE(put("a", text));
  ASSERT_TRUE(put("empty", ""));
  ASSERT_TRUE(archive_->finish(""));
  std::string bytes = place_.read("a.zip");
  const std::size_t at = bytes.find(text);
  for (const bool damaged : {false, true}) {
    if (damaged) bytes[at + 5] = '!';
    place_.write("a.zip", bytes);
    const auto store = open_zip_store(whole(), "a.zip", nullptr, "");
    ASSERT_TRUE(store);
    EXPECT_TRUE((*store)->traits().checksums);
    Bytes part(4);
    using Order = std::vector<std::uint64_t>;
    for (const Order& order :
         {Order{0, 4, 8, 12}, Order{12, 8, 4, 0}, Order{4, 12, 0, 8}, Order{8, 8, 0, 6, 12, 4}}) {
      const auto file = *(*store)->open("a");
      bool failed = false;
      for (const std::uint64_t offset : order) failed = !file->read_at(offset, part);
      EXPECT_EQ(failed, damaged) << order[0] << order[1];
      EXPECT_EQ(file->read_range({0, 16}).has_value(), !damaged);
    }
    const auto file = *(*store)->open("a");
    EXPECT_TRUE(file->read_at(8, part)) << "a part alone";
    EXPECT_EQ(file->check_whole().has_value(), !damaged);
    EXPECT_TRUE((*(*store)->open("empty"))->check_whole());
    EXPECT_EQ(text_in(**store, "empty"), "");
  }
}

TEST_F(ArchiveStoreTest, IsReadWhileItIsMade) {
  ASSERT_TRUE(put("a/b", "one"));
  const auto file = archive_->open("a/b");
  ASSERT_TRUE(file && *file);
  ASSERT_TRUE(put("a/c", "two"));
  EXPECT_EQ(*(*file)->read_range({0, 3}), bytes_of("one"));
  EXPECT_EQ(text_in(*archive_, "a/c"), "two");
  EXPECT_EQ(text_in(*archive_, "a/d"), "absent");
  EXPECT_FALSE(*archive_->status("a"));
  EXPECT_EQ((*archive_->status("a/c"))->st_size, 3);
  EXPECT_FALSE(archive_->list("a"));
}

TEST_F(ArchiveStoreTest, TakesNoNameTwice) {
  ASSERT_TRUE(put("a", "one"));
  const auto again = put("a", "two");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().fault, Fault::kExists);
  EXPECT_EQ(text_in(*archive_, "a"), "one");
  EXPECT_EQ(archive_->rename("never begun", "b").error().fault, Fault::kInvalid);
}

TEST_F(ArchiveStoreTest, LeavesNothingBesideItself) {
  const auto file = archive_->create("a", 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE(put("b", "one"));
  ASSERT_TRUE(archive_->remove("a"));
  EXPECT_FALSE(archive_->publish("a"));
  ASSERT_TRUE(archive_->finish(""));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place_.path()), {}), 1);
}

TEST_F(ArchiveStoreTest, RefusesWhatNoReaderTakes) {
  EXPECT_EQ(archive_->finish(std::string(65536, 'x')).error().fault, Fault::kTooBig);
  EXPECT_EQ(put(std::string(PATH_MAX, 'x'), "").error().fault, Fault::kTooBig);
  ASSERT_TRUE(archive_->finish(std::string(65535, 'x')));
  EXPECT_TRUE(entries_in(*whole()).empty());
}

TEST_F(ArchiveStoreTest, RefusesMoreNamesOfDirectoriesThanAreRead) {
  std::string deep;
  for (int i = 0; i < 1900; ++i) deep += "/d";
  Result<void> made;
  for (int i = 0; made && i < 100; ++i) made = put(std::to_string(i) + deep + "/c", "");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().fault, Fault::kTooBig);
  EXPECT_THAT(made.error().message, HasSubstr("names of directories would have more than"));
}

// The bound of the directory is a small one here: every entry counts with the most that its record
// may have.
TEST_F(ArchiveStoreTest, RefusesALargerDirectoryThanIsRead) {
  const std::uint64_t three = 3 * most_zip_entry_bytes(5);
  archive_ = make_archive_store(Fd(::open(path().c_str(), O_RDWR)), "a.zip", place_.path(), three);
  for (const char* name : {"c/0/0", "c/0/1", "c/0/2"}) ASSERT_TRUE(put(name, "x"));
  const auto refused = put("c/0/3", "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kTooBig);
  EXPECT_EQ(refused.error().message,
            "a.zip: the archive's directory would have more than " + std::to_string(three) +
                " bytes, and zarrfs reads no such archive: make a directory, or larger shards");
}

TEST_F(ArchiveStoreTest, CountsMoreEntriesThanTheOldRecordHolds) {
  constexpr int kMany = 70'000;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(put("c/" + std::to_string(i), "x"));
  ASSERT_TRUE(archive_->finish(""));
  EXPECT_EQ(entries_in(*whole()).size(), kMany);
}

// An archive of holes around its records, as large as it says.
TEST(ZipWriter, SaysLargeSizesAndPlacesInZip64) {
  const TempDir place;
  const std::string path = place / "large.zip";
  const auto out = make_local_new_file(Fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600)), "large");
  const std::vector<std::uint64_t> sizes{5 * kGiB, 0xfffffffe, 0xffffffff, 7};
  std::vector<ZipEntry> written;
  Bytes directory;
  std::uint64_t at = 0;
  for (const std::uint64_t size : sizes) {
    ZipEntry entry;
    entry.name = "\xc3\xa4/" + std::to_string(size);
    entry.size = entry.stored_size = size;
    entry.header_offset = at;
    entry.checksum = 17;
    const Bytes header = zip_local_header(entry);
    EXPECT_EQ(header.size(), zip_local_header_size(entry.name.size(), size));
    ASSERT_TRUE(out->write_at(at, header));
    at += header.size() + size;
    const std::size_t before = directory.size();
    append_zip_entry(directory, entry);
    EXPECT_LE(directory.size() - before, most_zip_entry_bytes(entry.name.size()));
    written.push_back(entry);
  }
  ASSERT_TRUE(out->write_at(at, directory));
  const Bytes end = zip_end({at, directory.size()}, sizes.size(), "");
  ASSERT_TRUE(out->write_at(at + directory.size(), end));
  const std::uint64_t whole = at + directory.size() + end.size();
  const auto read = [&](ByteRange range) -> Result<Bytes> {
    Bytes bytes(range.length);
    ZARRFS_CHECK(out->read_at(range.offset, bytes));
    return bytes;
  };
  const auto entries = read_zip_directory(whole, read);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const ZipEntry& entry = (*entries)[i];
    EXPECT_EQ(entry.name, written[i].name);
    EXPECT_EQ(entry.size, sizes[i]);
    EXPECT_EQ(entry.header_offset, written[i].header_offset);
    const auto offset = zip_data_offset(entry, *read(zip_header_range(entry, whole)), at);
    ASSERT_TRUE(offset);
    EXPECT_EQ(*offset, entry.header_offset + zip_local_header_size(entry.name.size(), sizes[i]));
  }
}

TEST(ZipEntries, HaveALocalHeaderOfTheirNameAndMethod) {
  ZipEntry entry;
  entry.name = "a/c/0/1";
  entry.size = entry.stored_size = 8;
  const std::size_t begin = zip_local_header(entry).size();
  Bytes archive = zip_local_header(entry);
  archive.resize(begin + entry.size);
  const auto offset_of = [&](const ZipEntry& wanted) {
    const ByteRange range = zip_header_range(wanted, archive.size());
    const ByteView header = ByteView(archive).subspan(range.offset, range.length);
    return zip_data_offset(wanted, header, archive.size());
  };
  EXPECT_EQ(offset_of(entry).value_or(0), begin);
  for (const char* const other : {"a/c/1/0", "a/c/0", "a/c/0/10"}) {
    ZipEntry wanted = entry;
    wanted.name = other;
    const auto offset = offset_of(wanted);
    ASSERT_FALSE(offset) << other;
    EXPECT_EQ(offset.error().fault, Fault::kDamaged);
    EXPECT_NE(offset.error().message.find(other), std::string::npos) << offset.error().message;
  }
  entry.method = 8;
  EXPECT_FALSE(offset_of(entry));
}

}  // namespace
}  // namespace zarrfs
