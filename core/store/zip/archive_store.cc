#include "core/store/zip/archive_store.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/lock_order.h"
#include "core/base/path.h"
#include "core/base/request.h"
#include "core/store/begun_files.h"
#include "core/store/local_file.h"
#include "core/store/object_status.h"
#include "core/store/zip/zip_records.h"
#include "core/store/zip/zip_writer.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kCopied = std::uint64_t{1} << 20U;  // bytes at once
constexpr std::int64_t kPerSecond = 1'000'000'000;

struct stat status_in_archive(const ZipEntry& entry) {
  const std::string version =
      std::to_string(entry.header_offset) + " " + std::to_string(entry.checksum);
  return object_status(entry.name, version, entry.size, entry.modified_ns);
}

/// An entry of an archive that grows behind it.
class PutEntry final : public File {
 public:
  PutEntry(std::shared_ptr<const NewFile> archive, std::string name, ByteRange range,
           const struct stat& status)
      : archive_(std::move(archive)), name_(std::move(name)), range_(range), status_(status) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    const std::uint64_t begin = std::min(offset, range_.length);
    const std::uint64_t length = std::min<std::uint64_t>(out.size(), range_.length - begin);
    return archive_->read_at(range_.offset + begin, out.first(static_cast<std::size_t>(length)));
  }

 private:
  const std::shared_ptr<const NewFile> archive_;
  const std::string name_;
  const ByteRange range_;
  const struct stat status_;
};

class Archive final : public ArchiveStore {
 public:
  Archive(Fd file, std::string name, std::string folder, std::uint64_t largest_directory)
      : archive_(make_local_new_file(std::move(file), name)),
        name_(std::move(name)),
        largest_directory_(largest_directory),
        made_ns_(static_cast<std::int64_t>(std::time(nullptr)) * kPerSecond),
        pieces_(std::move(folder)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override {
    return {.directories = false, .lists = false};
  }
  std::optional<std::string> why_read_only() override { return std::nullopt; }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    const HeldLock lock(mutex_);
    const auto found = entries_.find(path);
    if (found == entries_.end()) return std::nullopt;
    return status_in_archive(found->second);
  }

  Result<std::shared_ptr<File>> open(const std::string& path) override {
    const HeldLock lock(mutex_);
    const auto found = entries_.find(path);
    if (found == entries_.end()) return nullptr;
    const ZipEntry& entry = found->second;
    const ByteRange range{
        entry.header_offset + zip_local_header_size(entry.name.size(), entry.size), entry.size};
    return std::make_shared<PutEntry>(archive_, name_ + ": " + path, range,
                                      status_in_archive(entry));
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    return fail(Fault::kUnsupported, name_ + ": " + path + ": is not listed before it is whole");
  }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t /*mode*/) override {
    return pieces_.create(path, name_ + ": " + path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    ZARRFS_TRY(Fd piece, pieces_.take(from));
    return put(std::move(piece), to);
  }
  Result<void> publish(const std::string& path) override { return rename(path, path); }
  /// What was put stays.
  Result<void> remove(const std::string& path) override {
    static_cast<void>(pieces_.take(path));
    return {};
  }

  Result<void> finish(std::string_view comment) override {
    if (comment.size() > zip::kLongestComment) {
      return fail(Fault::kTooBig, name_ + ": its comment of " + std::to_string(comment.size()) +
                                      " bytes is longer than an archive can hold");
    }
    std::vector<const ZipEntry*> in_order;
    std::uint64_t at = 0;
    {
      const HeldLock lock(mutex_);
      for (const auto& [path, entry] : entries_) in_order.push_back(&entry);
      at = size_;
    }
    std::sort(in_order.begin(), in_order.end(), [](const ZipEntry* a, const ZipEntry* b) {
      return a->header_offset < b->header_offset;
    });
    const std::uint64_t begin = at;
    Bytes directory;
    for (const ZipEntry* const entry : in_order) {
      append_zip_entry(directory, *entry);
      if (directory.size() < kCopied) continue;
      ZARRFS_CHECK(check_wanted());
      ZARRFS_CHECK(append(at, directory));
    }
    ZARRFS_CHECK(append(at, directory));
    Bytes end = zip_end({begin, at - begin}, in_order.size(), comment);
    ZARRFS_CHECK(append(at, end));
    return archive_->sync();
  }

 private:
  /// The room of an entry is reserved first, then it is filled, and found once it is whole.
  Result<void> put(Fd piece, const std::string& path) {
    struct stat status {};
    if (::fstat(piece.get(), &status) != 0) return fail(system_error(errno, name_ + ": " + path));
    const auto file = make_local_file(std::move(piece), status, name_ + ": " + path);
    ZipEntry entry;
    entry.name = path;
    entry.size = entry.stored_size = file->size();
    entry.modified_ns = made_ns_;
    ZARRFS_CHECK(check_entry_name(path));
    ZARRFS_TRY(entry.header_offset, reserve(entry));
    ZARRFS_TRY(entry.checksum, copy(*file, entry));
    ZARRFS_CHECK(archive_->write_at(entry.header_offset, zip_local_header(entry)));
    const HeldLock lock(mutex_);
    if (entries_.try_emplace(path, std::move(entry)).second) return {};
    return put_already(path);
  }

  [[nodiscard]] Result<void> check_entry_name(const std::string& path) const {
    if (path.size() < PATH_MAX) return {};
    return fail(Fault::kTooBig, name_ + ": a name of " + std::to_string(path.size()) +
                                    " bytes is longer than zarrfs reads in an archive");
  }

  /// Where the local header of `entry` begins.
  Result<std::uint64_t> reserve(const ZipEntry& entry) {
    const std::uint64_t header = zip_local_header_size(entry.name.size(), entry.size);
    const HeldLock lock(mutex_);
    if (entries_.contains(entry.name)) return put_already(entry.name);
    directory_bytes_ += most_zip_entry_bytes(entry.name.size());
    add_folders(entry.name);
    if (directory_bytes_ > largest_directory_) return too_large("directory", largest_directory_);
    if (folder_bytes_ > kMostZipFolderBytes) {
      return too_large("names of directories", kMostZipFolderBytes);
    }
    const std::uint64_t offset = size_;
    size_ += header + entry.size;
    return offset;
  }

  void add_folders(const std::string& path) ZARRFS_REQUIRES(mutex_) {
    std::string folder = parent_path(path);
    while (!folder.empty() && folders_.insert(folder).second) {
      folder_bytes_ += folder.size();
      folder = parent_path(folder);
    }
  }

  [[nodiscard]] tl::unexpected<Error> put_already(const std::string& path) const {
    return fail(Fault::kExists, name_ + ": " + path + " is in the archive already");
  }

  [[nodiscard]] tl::unexpected<Error> too_large(const std::string& what, std::uint64_t most) const {
    return fail(Fault::kTooBig, name_ + ": the archive's " + what + " would have more than " +
                                    std::to_string(most) +
                                    " bytes, and zarrfs reads no such archive: make a directory, "
                                    "or larger shards");
  }

  /// Copies the bytes of `entry` to their place; their checksum.
  Result<std::uint32_t> copy(const File& from, const ZipEntry& entry) {
    const std::uint64_t begin =
        entry.header_offset + zip_local_header_size(entry.name.size(), entry.size);
    Bytes buffer(static_cast<std::size_t>(std::min(entry.size, kCopied)));
    uLong checksum = ::crc32_z(0, nullptr, 0);
    for (std::uint64_t done = 0; done < entry.size;) {
      ZARRFS_CHECK(check_wanted());
      const auto length = static_cast<std::size_t>(std::min(entry.size - done, kCopied));
      const MutableByteView part = MutableByteView(buffer).first(length);
      ZARRFS_TRY(const std::size_t got, from.read_at(done, part));
      if (got < length) return fail(Fault::kStale, from.name() + ": became shorter");
      checksum = ::crc32_z(checksum, part.data(), part.size());
      ZARRFS_CHECK(archive_->write_at(begin + done, part));
      done += length;
    }
    return static_cast<std::uint32_t>(checksum);
  }

  Result<void> append(std::uint64_t& at, Bytes& bytes) {
    ZARRFS_CHECK(archive_->write_at(at, bytes));
    at += bytes.size();
    bytes.clear();
    return {};
  }

  const std::shared_ptr<NewFile> archive_;
  const std::string name_;
  const std::uint64_t largest_directory_;
  const std::int64_t made_ns_;
  BegunFiles pieces_;
  TableMutex mutex_;
  std::unordered_map<std::string, ZipEntry> entries_ ZARRFS_GUARDED_BY(mutex_);
  std::unordered_set<std::string> folders_ ZARRFS_GUARDED_BY(mutex_);
  std::uint64_t size_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t directory_bytes_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t folder_bytes_ ZARRFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::shared_ptr<ArchiveStore> make_archive_store(Fd file, const std::string& name,
                                                 const std::string& folder,
                                                 std::uint64_t largest_directory) {
  return std::make_shared<Archive>(std::move(file), name, folder, largest_directory);
}

}  // namespace zarrfs
