#include "core/vfs/staged_handle.h"

#include "core/names/refusals.h"

namespace zarrfs {

namespace {
struct timespec now() {
  struct timespec time {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}
}  // namespace

Result<void> StagedHandle::check(std::uint64_t size) const {
  if (!writer_) return fail(Fault::kReadOnly, "it is open for reading");
  if (!file_->writable()) {
    return refused(Fault::kStale, file_->path, "it was renamed before it was opened");
  }
  if (file_->limit == 0 || size <= file_->limit) return {};
  return fail(Fault::kTooBig, "/" + file_->path + ": " + std::to_string(size) +
                                  " bytes are more than a chunk of the array can have");
}

void StagedHandle::begin() {
  if (!unfinished_) ++file_->unfinished;
  unfinished_ = true;
}

void StagedHandle::finish() {
  const std::lock_guard lock(file_->mutex);
  if (unfinished_) --file_->unfinished;
  unfinished_ = false;
}

Result<ReadPlan> StagedHandle::read(std::uint64_t offset, std::uint64_t length) {
  const std::lock_guard lock(file_->mutex);
  ZARRFS_TRY(Bytes bytes, file_->bytes.read(offset, length));
  ReadPlan plan;
  plan.own = std::make_shared<const Bytes>(std::move(bytes));
  plan.bytes = *plan.own;
  return plan;
}

Result<void> StagedHandle::write(std::uint64_t offset, ByteView bytes) {
  const std::lock_guard lock(file_->mutex);
  if (appends_) offset = file_->bytes.size();
  const auto end = checked_add(offset, bytes.size());
  ZARRFS_CHECK(check(end.value_or(~std::uint64_t{0})));
  ZARRFS_CHECK(files_.check_document(*file_, offset, bytes));
  ZARRFS_CHECK(file_->bytes.write(offset, bytes));
  begin();
  file_->wrote();
  file_->modified = now();
  return {};
}

Result<void> StagedHandle::resize(std::uint64_t size) {
  const std::lock_guard lock(file_->mutex);
  ZARRFS_CHECK(check(size));
  ZARRFS_CHECK(file_->bytes.resize(size));
  begin();
  file_->wrote();
  file_->modified = now();
  return {};
}

Result<void> StagedHandle::flush() {
  if (!writer_) return {};
  finish();
  return files_.flush(*file_);
}

void StagedHandle::closed() {
  if (!writer_) return;
  finish();
  files_.closed(file_);
}

}  // namespace zarrfs
