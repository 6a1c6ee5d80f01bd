#include "tests/support/memory_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/zarr/tree.h"

namespace zarrfs::testing {
namespace {

struct stat status_of(const MemoryInode& inode) {
  struct stat status {};
  status.st_mode = inode.directory ? S_IFDIR | 0755U : S_IFREG | 0644U;
  status.st_ino = inode.number;
  status.st_size = static_cast<off_t>(inode.bytes.size());
  status.st_mtim.tv_sec = static_cast<time_t>(inode.version);
  status.st_ctim.tv_sec = static_cast<time_t>(inode.version + inode.moved);
  status.st_nlink = 1;
  if (inode.directory && inode.descriptor.valid()) {
    struct stat last {};
    if (::fstat(inode.descriptor.get(), &last) != 0) std::abort();
    status.st_dev = last.st_dev;
    status.st_ino = last.st_ino;
  }
  return status;
}

std::pair<std::string, std::string> split(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::size_t read_from(const Bytes& bytes, std::uint64_t offset, MutableByteView out) {
  if (offset >= bytes.size()) return 0;
  const std::size_t length = std::min<std::size_t>(out.size(), bytes.size() - offset);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), length, out.begin());
  return length;
}

/// Makes the descriptor hold the inode's bytes, where there is one.
void write_through(const MemoryInode& inode) {
  if (!inode.descriptor.valid()) return;
  const auto size = static_cast<off_t>(inode.bytes.size());
  const ssize_t done = ::pwrite(inode.descriptor.get(), inode.bytes.data(), inode.bytes.size(), 0);
  if (done != size || ::ftruncate(inode.descriptor.get(), size) != 0) std::abort();
}

/// Takes over what was written through the descriptor.
void refresh(MemoryInode& inode) {
  if (!inode.descriptor.valid()) return;
  struct stat status {};
  if (::fstat(inode.descriptor.get(), &status) != 0) std::abort();
  Bytes now(static_cast<std::size_t>(status.st_size));
  const ssize_t got = ::pread(inode.descriptor.get(), now.data(), now.size(), 0);
  if (got != status.st_size) std::abort();
  if (now == inode.bytes) return;
  inode.bytes = now;
  ++inode.version;
  inode.unsynced.emplace_back([now = std::move(now)](Bytes& bytes) { bytes = now; });
}

int descriptor_of(MemoryInode& inode) {
  if (!inode.descriptor.valid()) {
    inode.descriptor = Fd(::memfd_create("memory store", MFD_CLOEXEC));
    write_through(inode);
  }
  return inode.descriptor.get();
}

class MemoryFile final : public File {
 public:
  MemoryFile(std::shared_ptr<MemoryInode> inode, std::recursive_mutex& mutex)
      : inode_(std::move(inode)), mutex_(mutex), status_(status_of(*inode_)) {}
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override {
    const std::lock_guard lock(mutex_);
    refresh(*inode_);
    return status_of(*inode_);
  }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    const std::lock_guard lock(mutex_);
    refresh(*inode_);
    return read_from(inode_->bytes, offset, out);
  }
  [[nodiscard]] int descriptor() const override {
    const std::lock_guard lock(mutex_);
    return descriptor_of(*inode_);
  }

 private:
  std::shared_ptr<MemoryInode> inode_;
  std::recursive_mutex& mutex_;
  struct stat status_;
};

}  // namespace

class MemoryNewFile final : public NewFile {
 public:
  MemoryNewFile(MemoryStore& store, std::shared_ptr<MemoryInode> inode, std::string path)
      : store_(store), inode_(std::move(inode)), path_(std::move(path)) {}

  Result<void> write_at(std::uint64_t offset, ByteView bytes) override {
    return apply("write", [offset, copy = Bytes(bytes.begin(), bytes.end())](Bytes& out) {
      if (out.size() < offset + copy.size()) out.resize(offset + copy.size());
      std::copy(copy.begin(), copy.end(), out.begin() + static_cast<std::ptrdiff_t>(offset));
    });
  }
  Result<void> copy_range(const File& from, ByteRange range, std::uint64_t offset) override {
    ZARRFS_TRY(Bytes bytes, from.read_range(range));
    if (store_.pretend_copy) std::fill(bytes.begin(), bytes.end(), 0);
    return write_at(offset, bytes);
  }
  Result<void> truncate(std::uint64_t size) override {
    return apply("truncate", [size](Bytes& out) { out.resize(size); });
  }
  Result<void> sync() override {
    auto synced = store_.change("sync", path_, [&]() -> Result<void> {
      if (store_.pretend_file_sync) return {};
      for (const auto& act : inode_->unsynced) act(inode_->durable_bytes);
      inode_->unsynced.clear();
      return {};
    });
    const std::lock_guard lock(store_.mutex_);
    // As in Linux: what a failed sync was to write is not written by the next one either.
    if (!synced) inode_->unsynced.clear();
    return synced;
  }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    const std::lock_guard lock(store_.mutex_);
    return read_from(inode_->bytes, offset, out);
  }
  [[nodiscard]] Result<struct stat> status() const override {
    const std::lock_guard lock(store_.mutex_);
    return status_of(*inode_);
  }
  [[nodiscard]] int descriptor() const override {
    const std::lock_guard lock(store_.mutex_);
    return descriptor_of(*inode_);
  }

 private:
  Result<void> apply(const std::string& call, const std::function<void(Bytes&)>& act) {
    return store_.change(call, path_, [&]() -> Result<void> {
      act(inode_->bytes);
      write_through(*inode_);
      inode_->version = store_.clock_++;
      inode_->unsynced.push_back(act);
      return {};
    });
  }

  MemoryStore& store_;
  std::shared_ptr<MemoryInode> inode_;
  std::string path_;
};

MemoryStore::MemoryStore() : root_(new_inode(true)) {}

MemoryStore::Pointer MemoryStore::new_inode(bool directory) {
  auto inode = std::make_shared<MemoryInode>();
  inode->directory = directory;
  inode->number = next_number_++;
  inode->version = clock_++;
  return inode;
}

MemoryStore::Pointer MemoryStore::find(const std::string& path) const {
  Pointer at = root_;
  std::size_t begin = 0;
  while (at && begin < path.size()) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto found = at->entries.find(path.substr(begin, end - begin));
    at = found == at->entries.end() ? nullptr : found->second;
    begin = end + 1;
  }
  if (at) refresh(*at);
  return at;
}

Result<void> MemoryStore::change(const std::string& call, const std::string& path,
                                 const std::function<Result<void>()>& act) {
  {
    const std::lock_guard lock(mutex_);
    const int number = fault ? fault(call, path) : 0;
    if (number != 0) return fail(system_error(number, call + " " + path));
    ZARRFS_CHECK(act());
  }
  if (after) after(call, path);
  return {};
}

void MemoryStore::change_entries(const Pointer& directory,
                                 std::function<void(MemoryInode::Entries&)> act) {
  act(directory->entries);
  directory->version = clock_++;
  directory->unsynced_entries.push_back(std::move(act));
}

Result<std::optional<struct stat>> MemoryStore::status(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Pointer inode = find(path);
  if (!inode) return std::nullopt;
  return status_of(*inode);
}

Result<std::shared_ptr<File>> MemoryStore::open(const std::string& path) {
  if (opening) opening(path);
  const std::lock_guard lock(mutex_);
  const Pointer inode = find(path);
  if (!inode) return std::shared_ptr<File>();
  if (inode->directory) return fail(Fault::kInvalid, path + " is a directory");
  return std::make_shared<MemoryFile>(inode, mutex_);
}

Result<std::optional<std::vector<Entry>>> MemoryStore::list(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Pointer inode = find(path);
  if (!inode || !inode->directory) return std::nullopt;
  std::vector<Entry> entries;
  for (const auto& [name, child] : inode->entries) {
    entries.push_back({name, child->directory ? EntryKind::kDirectory : EntryKind::kFile});
  }
  return entries;
}

Result<struct statvfs> MemoryStore::space() {
  return fail(Fault::kUnsupported, "memory has no space");
}

Result<std::unique_ptr<NewFile>> MemoryStore::create(const std::string& path, mode_t /*mode*/) {
  Pointer inode;
  ZARRFS_CHECK(change("create", path, [&]() -> Result<void> {
    const auto [parent, name] = split(path);
    const Pointer directory = find(parent);
    if (!directory) return fail(Fault::kIo, "no directory " + parent);
    if (directory->entries.contains(name)) return fail(Fault::kExists, path);
    inode = new_inode(false);
    change_entries(directory, [name = name, inode](auto& entries) { entries[name] = inode; });
    return {};
  }));
  return std::make_unique<MemoryNewFile>(*this, inode, path);
}

Result<std::unique_ptr<NewFile>> MemoryStore::clone(const File& from, const std::string& path,
                                                    mode_t mode) {
  if (!has_clones) return nullptr;
  ZARRFS_CHECK(change("clone", path, [] { return Result<void>{}; }));
  ZARRFS_TRY(std::unique_ptr<NewFile> made, create(path, mode));
  ZARRFS_CHECK(made->copy_range(from, {0, from.size()}, 0));
  return made;
}

Result<std::unique_ptr<NewFile>> MemoryStore::reopen(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Pointer inode = find(path);
  if (!inode) return std::unique_ptr<NewFile>();
  return std::make_unique<MemoryNewFile>(*this, inode, path);
}

Result<void> MemoryStore::rename(const std::string& from, const std::string& to) {
  return change("rename", to, [&]() -> Result<void> {
    const auto [from_parent, from_name] = split(from);
    const auto [to_parent, to_name] = split(to);
    const Pointer inode = find(from);
    const Pointer from_directory = find(from_parent);
    const Pointer to_directory = find(to_parent);
    if (!inode || !to_directory) return fail(Fault::kIo, "rename " + from);
    if (const Pointer replaced = find(to)) {
      if (replaced->directory != inode->directory)
        return fail(Fault::kIo, to + " is of another kind");
      if (!replaced->entries.empty()) return fail(Fault::kNotEmpty, to);
    }
    const auto enter = [name = to_name, inode](auto& entries) { entries[name] = inode; };
    if (from_directory != to_directory) {
      change_entries(from_directory, [name = from_name](auto& entries) { entries.erase(name); });
      change_entries(to_directory, enter);
      return {};
    }
    change_entries(to_directory, [name = from_name, enter](auto& entries) {
      entries.erase(name);
      enter(entries);
    });
    return {};
  });
}

Result<void> MemoryStore::remove(const std::string& path) {
  return change("remove", path, [&]() -> Result<void> {
    const auto [parent, name] = split(path);
    const Pointer directory = find(parent);
    if (directory && directory->entries.contains(name)) {
      change_entries(directory, [name = name](auto& entries) { entries.erase(name); });
    }
    return {};
  });
}

Result<void> MemoryStore::make_directory(const std::string& path, mode_t /*mode*/) {
  return change("mkdir", path, [&]() -> Result<void> {
    const auto [parent, name] = split(path);
    const Pointer directory = find(parent);
    if (!directory) return fail(Fault::kIo, "no directory " + parent);
    if (directory->entries.contains(name)) return fail(Fault::kExists, path);
    change_entries(directory, [name = name, inode = new_inode(true)](auto& entries) {
      entries[name] = inode;
    });
    return {};
  });
}

Result<void> MemoryStore::remove_directory(const std::string& path) {
  return change("rmdir", path, [&]() -> Result<void> {
    const Pointer inode = find(path);
    if (!inode) return {};
    if (!inode->entries.empty()) return fail(Fault::kNotEmpty, path);
    const auto [parent, name] = split(path);
    change_entries(find(parent), [name = name](auto& entries) { entries.erase(name); });
    return {};
  });
}

Result<void> MemoryStore::sync_directory(const std::string& path) {
  return change("sync_directory", path, [&]() -> Result<void> {
    const Pointer inode = find(path);
    if (!inode) return fail(Fault::kIo, "no directory " + path);
    if (pretend_directory_sync) return {};
    inode->durable_entries = inode->entries;
    inode->unsynced_entries.clear();
    return {};
  });
}

Result<MemoryStore::Pointer> MemoryStore::plain_file(const std::string& path, int flags) {
  const Pointer inode = find(path);
  if (inode && inode->directory) return fail(Fault::kUnsupported, path + " is a directory");
  if (inode && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return fail(Fault::kExists, path);
  if (inode || (flags & O_CREAT) == 0) return inode;
  ZARRFS_TRY(const auto made, create(path, 0));
  return find(path);
}

Result<Fd> MemoryStore::open_plain(const std::string& path, int flags, mode_t /*mode*/) {
  const std::lock_guard lock(mutex_);
  if (const Pointer inode = find(path); inode && inode->directory) {
    // Opened for the store's lock: a file of its own for each opening, as after a power cut.
    inode->descriptor = Fd(::memfd_create("memory store's lock", MFD_CLOEXEC));
    return Fd(::fcntl(inode->descriptor.get(), F_DUPFD_CLOEXEC, 0));
  }
  ZARRFS_TRY(const Pointer inode, plain_file(path, flags));
  if (!inode) return Fd();
  const int descriptor = descriptor_of(*inode);
  if ((flags & O_TRUNC) != 0 && ::ftruncate(descriptor, 0) != 0) std::abort();
  return Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

namespace {

void count_changes(const MemoryInode& inode, std::set<const MemoryInode*>& seen,
                   std::size_t& changes) {
  if (!seen.insert(&inode).second) return;
  changes += inode.unsynced.size() + inode.unsynced_entries.size();
  for (const auto& [name, child] : inode.entries) count_changes(*child, seen, changes);
  for (const auto& [name, child] : inode.durable_entries) count_changes(*child, seen, changes);
}

}  // namespace

std::size_t MemoryStore::unsynced_changes() const {
  const std::lock_guard lock(mutex_);
  std::set<const MemoryInode*> seen;
  std::size_t changes = 0;
  count_changes(*root_, seen, changes);
  return changes;
}

std::shared_ptr<MemoryStore> MemoryStore::copy_of(const Survival& survival) const {
  const std::lock_guard lock(mutex_);
  auto result = std::make_shared<MemoryStore>();
  std::map<const MemoryInode*, Pointer> copies;
  const std::function<Pointer(MemoryInode&)> copy = [&](MemoryInode& from) -> Pointer {
    refresh(from);
    if (const auto known = copies.find(&from); known != copies.end()) return known->second;
    const Pointer to = result->new_inode(from.directory);
    copies[&from] = to;
    to->bytes = survival.bytes(from);
    to->durable_bytes = to->bytes;
    const MemoryInode::Entries entries = survival.entries(from);
    for (const auto& [name, child] : entries) to->entries[name] = copy(*child);
    to->durable_entries = to->entries;
    return to;
  };
  result->root_ = copy(*root_);
  return result;
}

std::shared_ptr<MemoryStore> MemoryStore::after_power_cut(
    const std::function<bool(std::size_t)>& kept) const {
  std::size_t change = 0;
  const auto apply = [&](auto durable, const auto& unsynced) {
    for (const auto& act : unsynced) {
      if (kept(change++)) act(durable);
    }
    return durable;
  };
  return copy_of(
      {[&](const MemoryInode& inode) { return apply(inode.durable_bytes, inode.unsynced); },
       [&](const MemoryInode& inode) {
         return apply(inode.durable_entries, inode.unsynced_entries);
       }});
}

std::shared_ptr<MemoryStore> MemoryStore::after_kill() const {
  return copy_of({[](const MemoryInode& inode) { return inode.bytes; },
                  [](const MemoryInode& inode) { return inode.entries; }});
}

std::set<std::string> MemoryStore::files() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> paths;
  const std::function<void(const MemoryInode&, const std::string&)> walk =
      [&](const MemoryInode& inode, const std::string& path) {
        if (!inode.directory) paths.insert(path);
        for (const auto& [name, child] : inode.entries) {
          walk(*child, path.empty() ? name : path + "/" + name);
        }
      };
  walk(*root_, "");
  return paths;
}

void MemoryStore::unpack_over(const std::string& path, const Bytes& bytes) {
  const std::lock_guard lock(mutex_);
  const Pointer before = find(path);
  const auto after = std::make_shared<MemoryInode>();
  after->number = before->number;
  after->version = before->version;
  after->moved = before->moved + 1;
  after->bytes = bytes;
  find(parent_path(path))->entries[path.substr(path.rfind('/') + 1)] = after;
}

void MemoryStore::write_file(const std::string& path, const std::string& text) {
  const std::lock_guard lock(mutex_);
  Pointer at = root_;
  std::size_t begin = 0;
  for (;;) {
    const auto end = std::min(path.find('/', begin), path.size());
    Pointer& child = at->entries[path.substr(begin, end - begin)];
    if (!child) child = new_inode(end < path.size());
    at->version = clock_++;
    at->durable_entries = at->entries;
    at = child;
    if (end == path.size()) break;
    begin = end + 1;
  }
  at->bytes.assign(text.begin(), text.end());
  write_through(*at);
  at->durable_bytes = at->bytes;
  at->version = clock_++;
}

}  // namespace zarrfs::testing
