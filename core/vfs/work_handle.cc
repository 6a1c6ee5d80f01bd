#include "core/vfs/work_handle.h"

namespace zarrfs {

namespace {
struct timespec now() {
  struct timespec time {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}
}  // namespace

Result<void> WorkHandle::check(std::uint64_t size) const {
  if (!writer_) return fail(Fault::kReadOnly, "it is open for reading");
  if (work_->limit == 0 || size <= work_->limit) return {};
  return fail(Fault::kTooBig, "/" + work_->path + ": " + std::to_string(size) +
                                  " bytes are more than a chunk of the array can have");
}

Result<ReadPlan> WorkHandle::read(std::uint64_t offset, std::uint64_t length) {
  const std::lock_guard lock(work_->mutex);
  ZARRFS_TRY(Bytes bytes, work_->bytes.read(offset, length));
  ReadPlan plan;
  plan.own = std::make_shared<const Bytes>(std::move(bytes));
  plan.bytes = *plan.own;
  return plan;
}

Result<void> WorkHandle::write(std::uint64_t offset, ByteView bytes) {
  const std::lock_guard lock(work_->mutex);
  const auto end = checked_add(offset, bytes.size());
  ZARRFS_CHECK(check(end.value_or(~std::uint64_t{0})));
  ZARRFS_CHECK(work_->bytes.write(offset, bytes));
  work_->dirty = true;
  work_->modified = now();
  return {};
}

Result<void> WorkHandle::resize(std::uint64_t size) {
  const std::lock_guard lock(work_->mutex);
  ZARRFS_CHECK(check(size));
  ZARRFS_CHECK(work_->bytes.resize(size));
  work_->dirty = true;
  work_->modified = now();
  return {};
}

void WorkHandle::closed() {
  if (writer_) files_.closed(work_);
}

}  // namespace zarrfs
