#include "core/view/open_files.h"

#include <algorithm>

namespace zarrfs {

ByteRange clamp_read(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  const std::uint64_t begin = std::min(offset, size);
  return {begin, std::min(length, size - begin)};
}

Result<ReadPlan> BytesFile::read(std::uint64_t offset, std::uint64_t length) {
  const ByteRange part = clamp_read(offset, length, bytes_->size());
  ReadPlan plan;
  plan.bytes = ByteView(*bytes_).subspan(part.offset, part.length);
  return plan;
}

Result<ReadPlan> SliceFile::read(std::uint64_t offset, std::uint64_t length) {
  if (!immutable_) {
    ZARRFS_TRY(const struct stat now, file_->current_status());
    if (identity_of(now) != file_->identity()) {
      return fail(Fault::kStale, name_ + ": its stored object was changed while it was open");
    }
  }
  const ByteRange part = clamp_read(offset, length, range_.length);
  ReadPlan plan;
  plan.descriptor = file_->descriptor();
  plan.range = {range_.offset + part.offset, part.length};
  return plan;
}

Result<ReadPlan> ForeignFile::read(std::uint64_t offset, std::uint64_t length) {
  ZARRFS_TRY(const struct stat now, file_->current_status());
  ReadPlan plan;
  plan.descriptor = file_->descriptor();
  plan.range = clamp_read(offset, length, static_cast<std::uint64_t>(now.st_size));
  return plan;
}

Result<std::optional<Found>> ForeignFile::attributes() {
  ZARRFS_TRY(const struct stat status, file_->current_status());
  return show_(status);
}

}  // namespace zarrfs
