#include "tools/shared/target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/hash.h"
#include "core/base/random_name.h"
#include "core/zarr/tree.h"

namespace zarrfs::tools {
namespace {
constexpr mode_t kFileMode = 0666;
constexpr mode_t kDirectoryMode = 0777;
constexpr std::uint64_t kSmall = std::uint64_t{128} << 10U;
}  // namespace

Target::Target(std::shared_ptr<Store> store, std::string local_path,
               std::optional<std::string> links_from)
    : store_(std::move(store)),
      local_path_(std::move(local_path)),
      links_from_(std::move(links_from)),
      root_(::open(local_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      root_errno_(errno) {}

Target::Target(std::shared_ptr<PutStore> puts) : store_(puts), puts_(std::move(puts)) {}

Result<void> Target::make_directories(const std::string& path) {
  if (path.empty() || puts_ != nullptr) return {};
  {
    const HeldLock lock(mutex_);
    if (directories_.contains(path)) return {};
  }
  ZARRFS_CHECK(make_directories(parent_path(path)));
  auto made = store_->make_directory(path, kDirectoryMode);
  if (!made && made.error().fault != Fault::kExists) return made;
  const HeldLock lock(mutex_);
  directories_.insert(path);
  return {};
}

Result<std::unique_ptr<NewFile>> Target::create(const std::string& path) {
  ZARRFS_CHECK(make_directories(parent_path(path)));
  auto made = store_->create(path, kFileMode);
  if (made || made.error().fault != Fault::kExists) return made;
  ZARRFS_CHECK(store_->remove(path));
  return store_->create(path, kFileMode);
}

Result<std::optional<std::uint64_t>> Target::copy_file(Store& from, const std::string& path) {
  if (links_from_) {
    ZARRFS_CHECK(make_directories(parent_path(path)));
    const std::string old_name = *links_from_ + "/" + path;
    const std::string new_name = local_path_ + "/" + path;
    ZARRFS_CHECK(store_->remove(path));  // what an interrupted run left there
    if (::link(old_name.c_str(), new_name.c_str()) == 0) return 0;
  }
  ZARRFS_TRY(const auto file, from.open(path));
  if (!file) return std::nullopt;
  const std::string temporary = temporary_for(path);
  ZARRFS_TRY(const auto copy, create(temporary));
  const auto copied = copy->copy_range(*file, {0, file->size()}, 0);
  if (!copied) {
    if (shared_) static_cast<void>(store_->remove(temporary));
    return fail(copied.error());
  }
  ZARRFS_CHECK(name(*copy, file->size(), temporary, path));
  return file->size();
}

Result<void> Target::write_document(const std::string& path, const std::string& text) {
  const std::string temporary = temporary_for(path);
  ZARRFS_TRY(const auto file, create(temporary));
  const auto* first = reinterpret_cast<const std::uint8_t*>(text.data());
  ZARRFS_CHECK(file->write_at(0, ByteView(first, text.size())));
  return store_->rename(temporary, path);
}

std::string Target::temporary_for(const std::string& path) const {
  return shared_ ? temporary_beside(path) + "-" + random_digits() : temporary_beside(path);
}

Result<void> Target::name(NewFile& file, std::uint64_t size, const std::string& temporary,
                          const std::string& path) {
  if (!shared_ || puts_ != nullptr) {
    complete(file, size);
    return store_->rename(temporary, path);
  }
  auto named = file.sync();
  if (named) named = store_->rename(temporary, path);
  if (!named) static_cast<void>(store_->remove(temporary));
  return named;
}

void Target::complete(NewFile& file, std::uint64_t size) const {
  if (puts_ == nullptr && size >= kSmall) file.begin_sync();
}

PieceFiles::~PieceFiles() {
  for (const auto& [path, temporary] : temporary_) {
    static_cast<void>(target_.store().remove(temporary));
  }
}

Result<std::unique_ptr<NewFile>> PieceFiles::create(const std::string& path) {
  if (!named_late()) return target_.create(path);
  const std::string& temporary = temporary_[path] = target_.temporary_for(path);
  return target_.create(temporary);
}

Result<void> PieceFiles::complete(const std::string& path, NewFile& file, std::uint64_t size) {
  if (target_.puts_ != nullptr) return target_.puts_->publish(path);
  target_.complete(file, size);
  return {};
}

Result<void> PieceFiles::finish() {
  if (temporary_.empty()) return {};
  ZARRFS_CHECK(target_.sync());
  while (!temporary_.empty()) {
    const auto& [path, temporary] = *temporary_.begin();
    ZARRFS_CHECK(target_.store().rename(temporary, path));
    temporary_.erase(temporary_.begin());
  }
  return {};
}

Result<void> Target::sync() {
  if (puts_ != nullptr) return {};
  if (!root_.valid()) return fail(system_error(root_errno_, local_path_ + ": opening it to sync"));
  if (::syncfs(root_.get()) != 0) return fail(system_error(errno, local_path_ + ": syncing"));
  return {};
}

std::string temporary_beside(const std::string& path) {
  // With what is put before and behind it, a long name would be longer than file systems take.
  constexpr std::size_t kLongest = 180;
  const std::string name = last_name(path);
  return join_path(
      parent_path(path),
      ".zarrfs-new-" + (name.size() <= kLongest ? name : std::to_string(digest_of(name))));
}

Result<bool> same_bytes(const File& a, ByteRange range_a, const File& b, ByteRange range_b) {
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 20U;
  if (range_a.length != range_b.length) return false;
  for (std::uint64_t done = 0; done < range_a.length; done += kBlock) {
    const std::uint64_t length = std::min(kBlock, range_a.length - done);
    ZARRFS_TRY(const Bytes bytes_a, a.read_range({range_a.offset + done, length}));
    ZARRFS_TRY(const Bytes bytes_b, b.read_range({range_b.offset + done, length}));
    if (bytes_a != bytes_b) return false;
  }
  return true;
}

}  // namespace zarrfs::tools
