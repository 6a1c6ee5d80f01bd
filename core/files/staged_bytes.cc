#include "core/files/staged_bytes.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/log/whole_file.h"

namespace zarrfs {

namespace {
constexpr std::uint64_t kMostInMemory = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46U;
constexpr std::uint64_t kRoom = std::uint64_t{4} << 10U;
constexpr mode_t kMode = 0600;
}  // namespace

WholeBytes::WholeBytes(std::shared_ptr<StagedBudget> budget, std::uint64_t size)
    : budget_(std::move(budget)) {
  {
    std::unique_lock lock(budget_->mutex);
    budget_->left.wait(
        lock, [&] { return budget_->wholes == 0 || budget_->used + size <= budget_->limit; });
    ++budget_->wholes;
    budget_->used += size;
  }
  memory_.resize(size);
  view_ = memory_;
}

WholeBytes::~WholeBytes() {
  if (budget_ == nullptr) return;
  const std::uint64_t size = std::exchange(memory_, Bytes()).size();
  {
    const std::lock_guard lock(budget_->mutex);
    --budget_->wholes;
    budget_->used -= size;
  }
  budget_->left.notify_all();
}

StagedBytes::~StagedBytes() { budget_->used -= accounted_; }

void StagedBytes::account() {
  budget_->used += memory_.capacity();
  budget_->used -= accounted_;
  accounted_ = memory_.capacity();
}

Result<void> StagedBytes::spill() {
  ZARRFS_TRY(const std::string path, new_temporary_path(*store_));
  ZARRFS_TRY(file_, store_->create(path, kMode));
  ZARRFS_CHECK(store_->remove(path));  // it goes with its descriptor
  auto written = file_->write_at(0, memory_);
  if (!written) {
    file_.reset();
    return written;
  }
  memory_ = Bytes();
  account();
  return {};
}

/// In memory, or in a file from now on.
Result<void> StagedBytes::make_room(std::uint64_t size) {
  if (size > kMostBytes) return fail(Fault::kTooBig, "more than 2^46 bytes");
  const bool too_much =
      size > kMostInMemory || (size > memory_.capacity() && budget_->used + size > budget_->limit);
  if (file_ == nullptr && size > size_ && too_much) return spill();
  return {};
}

Result<void> StagedBytes::resize(std::uint64_t size) {
  ZARRFS_CHECK(make_room(size));
  if (file_ != nullptr) {
    ZARRFS_CHECK(file_->truncate(size));
  } else {
    memory_.resize(size);
    if (size == 0) memory_ = Bytes();
    account();
  }
  size_ = size;
  return {};
}

/// The usual way: from the start to the end.
Result<void> StagedBytes::append(ByteView bytes) {
  const std::uint64_t end = size_ + bytes.size();
  ZARRFS_CHECK(make_room(end));
  if (file_ != nullptr) {
    ZARRFS_CHECK(file_->write_at(size_, bytes));
  } else {
    // The kernel cuts a few bytes off a large write from memory that does not begin with a page.
    if (memory_.empty()) memory_.reserve(divide_up(end, kRoom) * kRoom);
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
    account();
  }
  size_ = end;
  return {};
}

Result<void> StagedBytes::write(std::uint64_t offset, ByteView bytes) {
  const auto end = checked_add(offset, bytes.size());
  if (!end) return fail(Fault::kTooBig, "an offset beyond 2^64");
  if (offset == size_) return append(bytes);
  if (*end > size_) ZARRFS_CHECK(resize(*end));
  if (file_ != nullptr) return file_->write_at(offset, bytes);
  std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Result<Bytes> StagedBytes::read(std::uint64_t offset, std::uint64_t length) const {
  if (offset >= size_) return Bytes();
  Bytes out(std::min(length, size_ - offset));
  if (file_ == nullptr) {
    const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(offset);
    std::copy(from, from + static_cast<std::ptrdiff_t>(out.size()), out.begin());
    return out;
  }
  ZARRFS_CHECK(read_file(offset, out));
  return out;
}

Result<void> StagedBytes::read_file(std::uint64_t offset, MutableByteView out) const {
  ZARRFS_TRY(const std::size_t got, file_->read_at(offset, out));
  if (got != out.size()) return fail(Fault::kIo, "a file being written became shorter");
  return {};
}

Result<WholeBytes> StagedBytes::whole() const {
  if (file_ == nullptr) return WholeBytes(memory_);
  WholeBytes copy(budget_, size_);
  ZARRFS_CHECK(read_file(0, copy.memory()));
  return copy;
}

}  // namespace zarrfs
