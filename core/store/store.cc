#include "core/store/store.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

namespace zarrfs {
namespace {

constexpr std::int64_t kPerSecond = 1'000'000'000;
constexpr int kDocumentAttempts = 20;  // some are written anew every second, by many machines

FileIdentity identity_at(const struct stat& status, const struct timespec& time) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          time.tv_sec * kPerSecond + time.tv_nsec};
}

Error changed_in_place(const std::string& name) {
  return {Fault::kStale, name + ": was changed in place while it was read; open it again"};
}

/// Whether `file` is still as it was when it was opened.
Result<void> check_unchanged(const File& file) {
  ZARRFS_TRY(const struct stat now, file.current_status());
  if (identity_of(now) == file.identity()) return {};
  return fail(changed_in_place(file.name()));
}

}  // namespace

FileIdentity identity_of(const struct stat& status) { return identity_at(status, status.st_mtim); }

FileIdentity identity_by_ctime(const struct stat& status) {
  return identity_at(status, status.st_ctim);
}

Result<Bytes> File::read_range(ByteRange range) const {
  const std::string spelled = spell_range(range);
  if (!lies_within(range, size())) {
    return fail(Fault::kInvalid,
                name() + ": " + spelled + " lies past its end, " + std::to_string(size()));
  }
  try {
    Bytes bytes(static_cast<std::size_t>(range.length));
    ZARRFS_TRY(const std::size_t got, read_at(range.offset, bytes));
    if (got < bytes.size()) return fail(changed_in_place(name()));
    ZARRFS_CHECK(check_unchanged(*this));
    return bytes;
  } catch (const std::bad_alloc&) {
    return fail(Fault::kNoMemory, name() + ": no memory for " + spelled);
  } catch (const std::length_error&) {
    return fail(Fault::kNoMemory, name() + ": no memory for " + spelled);
  }
}

Result<std::optional<Document>> Store::read_document(const std::string& path, std::size_t limit) {
  const auto read = [&]() -> Result<std::optional<Document>> {
    ZARRFS_TRY(const std::shared_ptr<File> file, open(path));
    if (!file) return std::nullopt;
    if (file->size() > limit) {
      return fail(Fault::kDamaged, path + ": " + std::to_string(file->size()) +
                                       " bytes are more than the " + std::to_string(limit) +
                                       " that such a document may have");
    }
    ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
    return Document{std::string(bytes.begin(), bytes.end()), file->status()};
  };
  for (int attempt = 1;; ++attempt) {
    auto document = read();
    const bool replaced = !document && document.error().fault == Fault::kStale;
    if (!replaced || attempt == kDocumentAttempts) return document;
    // Nothing tells when who writes it is done.
    std::this_thread::sleep_for(std::chrono::milliseconds(1U << std::min(attempt, 6)));
  }
}

Result<struct statvfs> Store::space() {
  struct statvfs space {};
  space.f_bsize = 4096;
  space.f_frsize = 4096;
  space.f_namemax = 255;
  space.f_flag = ST_RDONLY;
  return space;
}

std::optional<FilePlace> File::place() const { return std::nullopt; }

Result<std::shared_ptr<File>> Store::open_for(const std::string& path, const OpenHint& /*hint*/) {
  return open(path);
}

tl::unexpected<Error> Store::only_read(const std::string& path) const {
  return fail(Fault::kReadOnly, name() + ": " + path + ": this kind of store is only read");
}

Result<std::unique_ptr<NewFile>> Store::create(const std::string& path, mode_t /*mode*/) {
  return only_read(path);
}
Result<std::unique_ptr<NewFile>> Store::clone(const File& /*from*/, const std::string& path,
                                              mode_t /*mode*/) {
  return only_read(path);
}
Result<std::unique_ptr<NewFile>> Store::reopen(const std::string& path) { return only_read(path); }
Result<void> Store::rename(const std::string& from, const std::string& /*to*/) {
  return only_read(from);
}
Result<void> Store::remove(const std::string& path) { return only_read(path); }
Result<void> Store::make_directory(const std::string& path, mode_t /*mode*/) {
  return only_read(path);
}
Result<void> Store::remove_directory(const std::string& path) { return only_read(path); }
Result<void> Store::sync_directory(const std::string& path) { return only_read(path); }
Result<Fd> Store::open_plain(const std::string& path, int /*flags*/, mode_t /*mode*/) {
  return only_read(path);
}
std::optional<std::string> Store::why_read_only() {
  return name() + ": this kind of store is only read";
}

}  // namespace zarrfs
