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
      name_(whole_->name()),
      status_(of_size(whole_->status(), range.length)) {}

PartFile::PartFile(FilePlace place, std::string name, const struct stat& status)
    : whole_(std::move(place.whole)),
      path_(std::move(place.path)),
      range_(place.range),
      name_(std::move(name)),
      status_(status) {}

Result<struct stat> PartFile::current_status() const {
  ZARRFS_TRY(const struct stat now, whole_->current_status());
  // A whole that changed its size is another file, and so is its part.
  if (identity_of(now) == whole_->identity()) return status_;
  return of_size(now, range_.length);
}

Result<std::size_t> PartFile::read_at(std::uint64_t offset, MutableByteView out) const {
  const std::size_t wanted = readable(offset, out.size(), range_.length);
  if (wanted == 0) return std::size_t{0};
  return whole_->read_at(range_within(range_, {offset, wanted}).offset, out.first(wanted));
}

void PartFile::fetch(ByteRange range) const {
  if (lies_within(range, range_.length)) {
    whole_->fetch(range_within(range_, range));
  }
}

MadeFile::MadeFile(FilePlace origin, std::uint64_t size, Make make)
    : origin_{std::move(origin.whole), std::move(origin.path), origin.range, false},
      make_(std::move(make)),
      status_(shown(origin_.whole->status(), size)) {}

/// Files made of one shard have numbers of their own: equal ranges of two are not the same bytes.
struct stat MadeFile::shown(struct stat origin, std::uint64_t size) const {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
  origin.st_ino ^= (origin_.range.offset + 1) * kSpread;
  return of_size(origin, size);
}

Result<struct stat> MadeFile::current_status() const {
  ZARRFS_TRY(const struct stat now, origin_.whole->current_status());
  if (identity_of(now) == origin_.whole->identity()) return status_;
  return shown(now, size());
}

Result<std::size_t> MadeFile::read_at(std::uint64_t offset, MutableByteView out) const {
  ZARRFS_TRY(const auto made, bytes());
  const std::size_t wanted = readable(offset, out.size(), made->size());
  if (wanted > 0) std::copy_n(made->data() + offset, wanted, out.data());
  return wanted;
}

Result<std::shared_ptr<const Bytes>> MadeFile::bytes() const {
  const HeldLock lock(mutex_);
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
