#include "core/log/reserve.h"

#include <fcntl.h>

#include <cerrno>
#include <limits>

#include "core/log/whole_file.h"

namespace zarrfs {
namespace {

/// The file grows in steps, so that few of many writes extend it.
constexpr std::uint64_t kStep = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMost = std::numeric_limits<off_t>::max() - kStep;
constexpr mode_t kMode = 0600;

/// An errno, or 0. The file's size stays as it is.
int allocate(int descriptor, std::uint64_t bytes) {
  while (::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

Result<void> Reserve::extend_locked(std::uint64_t bytes) {
  if (!file_) {
    ZARRFS_TRY(path_, new_temporary_path(*store_));
    ZARRFS_TRY(file_, store_->create(path_, kMode));
  }
  for (const std::uint64_t size : {divide_up(bytes, kStep) * kStep, bytes}) {
    const int error_number = allocate(file_->descriptor(), size);
    if (error_number == 0) {
      held_ = size;
      return {};
    }
    possible_ = error_number != EOPNOTSUPP && error_number != ENOSYS;
    if (!possible_ || size == bytes) {
      return fail(system_error(
          error_number, "reserving " + std::to_string(bytes) + " bytes for rewriting a shard"));
    }
  }
  return {};
}

Result<void> Reserve::hold(std::uint64_t bytes) {
  const HeldLock lock(mutex_);
  if (bytes <= held_ || !possible_) return {};
  if (bytes > kMost) return fail(Fault::kTooBig, "a shard of " + std::to_string(bytes) + " bytes");
  if (!store_->space()) {  // no file system
    possible_ = false;
    return {};
  }
  auto extended = extend_locked(bytes);
  if (extended || possible_) return extended;
  complain_("the file system of " + store_->name() +
            " cannot reserve room: when it is full, shards wait until there is room again");
  return {};
}

std::uint64_t Reserve::release() {
  const HeldLock lock(mutex_);
  if (!file_) return 0;
  file_.reset();
  static_cast<void>(store_->remove(path_));  // else the next writer removes it
  return std::exchange(held_, 0);
}

}  // namespace zarrfs
