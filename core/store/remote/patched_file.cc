#include "core/store/remote/patched_file.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::uint64_t kBrought = std::uint64_t{4} << 20U;
constexpr std::uint64_t kAhead = 4 * kBrought;  // asked for together

}  // namespace

Result<std::shared_ptr<Patch>> Patch::make(std::shared_ptr<RemoteObjects> objects,
                                           const std::string& key, const ObjectInfo& base,
                                           std::unique_ptr<NewFile> file) {
  std::shared_ptr<Patch> patch(new Patch(std::move(objects), key, base, std::move(file)));
  ZARRFS_CHECK(patch->file_->truncate(patch->size_));
  return patch;
}

std::vector<ByteRange> Patch::written() const {
  std::vector<ByteRange> ranges;
  for (const auto& [begin, end] : written_) ranges.push_back({begin, end - begin});
  return ranges;
}

void Patch::note_written(ByteRange range) {
  std::uint64_t begin = std::min(range.offset, size_);  // what lies between is zeros
  std::uint64_t end = range.offset + range.length;
  size_ = std::max(size_, end);
  auto next = written_.upper_bound(begin);
  if (next != written_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != written_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = written_.erase(next);
  }
  written_[begin] = end;
}

Result<void> Patch::truncate(std::uint64_t size) {
  ZARRFS_CHECK(file_->truncate(size));
  if (size > size_) note_written({size_, size - size_});
  written_.erase(written_.lower_bound(size), written_.end());
  if (!written_.empty()) {
    std::uint64_t& end = std::prev(written_.end())->second;
    end = std::min(end, size);
  }
  size_ = size;
  return {};
}

Result<void> Patch::bring(ByteRange range) {
  const RemoteFile base(objects_, key_, {base_, false});
  const auto piece_at = [&](std::uint64_t at) {
    return ByteRange{range.offset + at, std::min(kBrought, range.length - at)};
  };
  for (std::uint64_t at = 0; at < range.length; at += kBrought) {
    if (at % kAhead == 0) {
      for (std::uint64_t next = at; next < std::min(at + kAhead, range.length); next += kBrought) {
        base.fetch(piece_at(next));
      }
    }
    ZARRFS_TRY(const Bytes bytes, base.read_range(piece_at(at)));
    ZARRFS_CHECK(file_->write_at(range.offset + at, bytes));
  }
  return {};
}

Result<void> Patch::fill(ByteRange range) {
  std::uint64_t at = range.offset;
  const std::uint64_t end = range.offset + range.length;
  for (const ByteRange& have : written()) {
    const std::uint64_t begin = std::min(have.offset, end);
    if (begin > at) ZARRFS_CHECK(bring({at, begin - at}));
    at = std::max(at, have.offset + have.length);
  }
  if (at < end) ZARRFS_CHECK(bring({at, end - at}));
  return {};
}

Result<void> PatchedFile::write_at(std::uint64_t offset, ByteView bytes) {
  ZARRFS_CHECK(patch_->file().write_at(offset, bytes));
  if (!bytes.empty()) patch_->note_written({offset, bytes.size()});
  return {};
}

Result<void> PatchedFile::copy_range(const File& from, ByteRange range, std::uint64_t offset) {
  ZARRFS_CHECK(patch_->file().copy_range(from, range, offset));
  if (range.length > 0) patch_->note_written({offset, range.length});
  return {};
}

Result<std::size_t> PatchedFile::read_at(std::uint64_t offset, MutableByteView out) const {
  const std::uint64_t begin = std::min(offset, patch_->size());
  ZARRFS_CHECK(patch_->fill({begin, std::min<std::uint64_t>(out.size(), patch_->size() - begin)}));
  return patch_->file().read_at(offset, out);
}

void Patches::add(const std::string& path, const std::shared_ptr<Patch>& patch) {
  const std::lock_guard lock(mutex_);
  std::erase_if(patches_, [](const auto& item) { return item.second.expired(); });
  patches_[path] = patch;
}

std::shared_ptr<Patch> Patches::find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = patches_.find(path);
  return found == patches_.end() ? nullptr : found->second.lock();
}

}  // namespace zarrfs
