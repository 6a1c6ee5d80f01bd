#include "core/store/part_file.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

struct stat of_size(struct stat status, std::uint64_t size) {
  status.st_size = static_cast<off_t>(size);
  status.st_blocks = static_cast<blkcnt_t>(divide_up(size, 512));
  return status;
}

/// How much of [offset, +wanted) a file of `size` bytes has.
std::size_t readable(std::uint64_t offset, std::size_t wanted, std::uint64_t size) {
  if (offset >= size) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size - offset));
}

}  // namespace

PartFile::PartFile(std::shared_ptr<const File> whole, std::string path, ByteRange range)
    : whole_(std::move(whole)),
      path_(std::move(path)),
      range_(range),
      status_(of_size(whole_->status(), range.length)) {}

Result<struct stat> PartFile::current_status() const {
  ZARRFS_TRY(const struct stat now, whole_->current_status());
  // A whole that changed its size is another file, and so is its part.
  if (identity_of(now) == whole_->identity()) return status_;
  return of_size(now, range_.length);
}

Result<std::size_t> PartFile::read_at(std::uint64_t offset, MutableByteView out) const {
  const std::size_t wanted = readable(offset, out.size(), range_.length);
  if (wanted == 0) return std::size_t{0};
  return whole_->read_at(range_.offset + offset, out.first(wanted));
}

void PartFile::fetch(ByteRange range) const {
  if (lies_within(range, range_.length)) {
    whole_->fetch({range_.offset + range.offset, range.length});
  }
}

MadeFile::MadeFile(Origin origin, std::uint64_t size, Make make)
    : origin_(std::move(origin)),
      make_(std::move(make)),
      status_(shown(origin_.file->status(), size)) {}

/// Files made of one shard have numbers of their own: equal ranges of two are not the same bytes.
struct stat MadeFile::shown(struct stat origin, std::uint64_t size) const {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
  origin.st_ino ^= (origin_.offset + 1) * kSpread;
  return of_size(origin, size);
}

Result<struct stat> MadeFile::current_status() const {
  ZARRFS_TRY(const struct stat now, origin_.file->current_status());
  if (identity_of(now) == origin_.file->identity()) return status_;
  return shown(now, size());
}

Result<std::size_t> MadeFile::read_at(std::uint64_t offset, MutableByteView out) const {
  ZARRFS_TRY(const auto made, bytes());
  const std::size_t wanted = readable(offset, out.size(), made->size());
  if (wanted > 0) std::copy_n(made->data() + offset, wanted, out.data());
  return wanted;
}

Result<std::shared_ptr<const Bytes>> MadeFile::bytes() const {
  const std::lock_guard lock(mutex_);
  if (made_ != nullptr) return made_;
  ZARRFS_TRY(Bytes made, make_());
  if (made.size() != size()) {
    return fail(Fault::kDamaged, name() + ": " + std::to_string(made.size()) +
                                     " bytes were made of it, not " + std::to_string(size()));
  }
  made_ = std::make_shared<const Bytes>(std::move(made));
  return made_;
}

}  // namespace zarrfs
