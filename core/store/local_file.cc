#include "core/store/local_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <limits>
#include <string_view>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::uint64_t kMaxOffset = std::numeric_limits<off_t>::max();
constexpr std::uint64_t kCopyBuffer = std::uint64_t{1} << 20U;

/// Where another machine has removed an open file, file systems of several machines answer ESTALE,
/// EBADF (JuiceFS) or ENOENT.
Error error_of_open(int error_number, const std::string& message) {
  Error error = system_error(error_number, message);
  if (error_number == EBADF || error_number == ENOENT) error.fault = Fault::kStale;
  return error;
}

/// Reads until `out` is full or the file ends.
Result<std::size_t> read_fully(int fd, std::uint64_t offset, MutableByteView out,
                               const std::string& name) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto position = checked_add(offset, done);
    if (!position || *position > kMaxOffset) break;
    const ssize_t got =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(*position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(error_of_open(errno, name + ": reading " + spell_range({offset, out.size()})));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<struct stat> status_of(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail(error_of_open(errno, name + ": reading its status"));
  return status;
}

class LocalFile final : public File {
 public:
  LocalFile(Fd fd, const struct stat& status, std::string name)
      : fd_(std::move(fd)), status_(status), name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override {
    return status_of(fd_.get(), name_);
  }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    return read_fully(fd_.get(), offset, out, name_);
  }
  [[nodiscard]] int descriptor() const override { return fd_.get(); }
  void fetch(ByteRange range) const override {
    if (!lies_within(range, size())) return;
    static_cast<void>(::posix_fadvise(fd_.get(), static_cast<off_t>(range.offset),
                                      static_cast<off_t>(range.length), POSIX_FADV_WILLNEED));
  }

 private:
  Fd fd_;
  struct stat status_;
  std::string name_;
};

class LocalNewFile final : public NewFile {
 public:
  LocalNewFile(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Result<void> write_at(std::uint64_t offset, ByteView bytes) override {
    ZARRFS_CHECK(check_end({offset, bytes.size()}));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                                       static_cast<off_t>(offset + done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        return fail(
            system_error(errno, name_ + ": writing " + spell_range({offset, bytes.size()})));
      }
      done += static_cast<std::size_t>(written);
    }
    return {};
  }

  Result<void> copy_range(const File& from, ByteRange range, std::uint64_t offset) override {
    ZARRFS_CHECK(check_end({offset, range.length}));
    if (!lies_within(range, kMaxOffset)) {
      return fail(Fault::kTooBig, from.name() + ": cannot copy " + spell_range(range));
    }
    if (!worth_the_kernel(range, offset)) return copy_by_buffer(from, range, offset);
    ZARRFS_TRY(const std::uint64_t shared, copy_by_kernel(from, range, offset));
    return copy_by_buffer(from, {range.offset + shared, range.length - shared}, offset + shared);
  }

  Result<void> truncate(std::uint64_t size) override {
    ZARRFS_CHECK(check_end({0, size}));
    while (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
      if (errno == EINTR) continue;
      return fail(system_error(errno, name_ + ": setting its size to " + std::to_string(size)));
    }
    return {};
  }

  void begin_sync() override {
    static_cast<void>(::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE));
  }

  // After a failure the kernel may have dropped the pages and report success next time, so the
  // failure is remembered.
  Result<void> sync() override {
    if (sync_failed_) return fail(Fault::kIo, name_ + ": an earlier sync of this file failed");
    if (::fdatasync(fd_.get()) == 0) return {};  // its size, too; not its times
    sync_failed_ = true;
    return fail(system_error(errno, name_ + ": syncing"));
  }

  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    return read_fully(fd_.get(), offset, out, name_);
  }
  [[nodiscard]] Result<struct stat> status() const override { return status_of(fd_.get(), name_); }
  [[nodiscard]] int descriptor() const override { return fd_.get(); }
  // Some file systems tell no number of names; the kernel tells of names that went by its own
  // calls.
  [[nodiscard]] bool has_name() const override {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0 || status.st_nlink > 0) return true;
    const std::string link = "/proc/self/fd/" + std::to_string(fd_.get());
    std::array<char, PATH_MAX> path{};
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    return length < 0 ||
           !std::string_view(path.data(), static_cast<std::size_t>(length)).ends_with(" (deleted)");
  }

 private:
  [[nodiscard]] Result<void> check_end(ByteRange range) const {
    if (lies_within(range, kMaxOffset)) return {};
    return fail(Fault::kTooBig,
                name_ + ": " + spell_range(range) + " is larger than a file can be");
  }

  /// The kernel shares blocks where both ranges begin with one, and lets a server copy by itself.
  /// For little it is slower than a buffer: it moves 64 KiB at a time, page by page.
  static bool worth_the_kernel(ByteRange range, std::uint64_t offset) {
    constexpr std::uint64_t kBlock = 4096;
    const bool aligned = range.offset % kBlock == 0 && offset % kBlock == 0;
    return aligned || range.length > kCopyBuffer;
  }

  /// Copies what the kernel can copy by itself, which may be nothing; the number of bytes.
  Result<std::uint64_t> copy_by_kernel(const File& from, ByteRange range, std::uint64_t offset) {
    std::uint64_t done = 0;
    while (from.descriptor() >= 0 && done < range.length) {
      auto source = static_cast<off64_t>(range.offset + done);
      auto target = static_cast<off64_t>(offset + done);
      const std::uint64_t wanted = std::min(range.length - done, std::uint64_t{1} << 30U);
      const ssize_t copied =
          ::copy_file_range(from.descriptor(), &source, fd_.get(), &target, wanted, 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
        return fail(system_error(
            errno, name_ + ": copying " + spell_range(range) + " to it from " + from.name()));
      }
      if (copied <= 0) break;
      done += static_cast<std::uint64_t>(copied);
    }
    return done;
  }

  Result<void> copy_by_buffer(const File& from, ByteRange range, std::uint64_t offset) {
    const std::uint64_t size = std::min(range.length, kCopyBuffer);
    const auto buffer =
        std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(size));
    for (std::uint64_t done = 0; done < range.length;) {
      const auto wanted = static_cast<std::size_t>(std::min(range.length - done, kCopyBuffer));
      const MutableByteView part(buffer.get(), wanted);
      ZARRFS_TRY(const std::size_t got, from.read_at(range.offset + done, part));
      if (got < wanted) {
        return fail(Fault::kStale, from.name() + ": ended before " + spell_range(range) +
                                       " was copied; it has become shorter");
      }
      ZARRFS_CHECK(write_at(offset + done, part));
      done += got;
    }
    return {};
  }

  Fd fd_;
  std::string name_;
  std::atomic<bool> sync_failed_{false};
};

}  // namespace

std::shared_ptr<File> make_local_file(Fd fd, const struct stat& status, std::string name) {
  return std::make_shared<LocalFile>(std::move(fd), status, std::move(name));
}

std::unique_ptr<NewFile> make_local_new_file(Fd fd, std::string name) {
  return std::make_unique<LocalNewFile>(std::move(fd), std::move(name));
}

}  // namespace zarrfs
