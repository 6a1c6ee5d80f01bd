#include "core/files/stored_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace zarrfs {

Result<struct stat> StoredFile::status() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) == 0) return status;
  return fail(system_error(errno, name_ + ": reading its status"));
}

Result<std::optional<InodeEntry>> StoredFile::attributes() {
  ZARRFS_TRY(const struct stat now, status());
  return show_(now);
}

Result<ReadPlan> StoredFile::read(std::uint64_t offset, std::uint64_t length) {
  ZARRFS_TRY(const struct stat now, status());
  ReadPlan plan;
  plan.descriptor = descriptor_.get();
  plan.range = clamp_read(offset, length, static_cast<std::uint64_t>(now.st_size));
  return plan;
}

Result<void> StoredFile::write(std::uint64_t offset, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t done =
        ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return fail(system_error(errno, name_ + ": writing"));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<void> StoredFile::resize(std::uint64_t size) {
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) == 0) return {};
  return fail(system_error(errno, name_ + ": truncating"));
}

Result<bool> StoredFile::change(const AttributeChange& change) {
  ZARRFS_CHECK(change_opened(descriptor_.get(), name_, change));
  return true;
}

Result<void> StoredFile::sync() {
  if (::fsync(descriptor_.get()) == 0) return {};
  return fail(system_error(errno, name_ + ": syncing"));
}

}  // namespace zarrfs
