#include "core/vfs/pass_through.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/files/open_files.h"
#include "core/files/stored_file.h"
#include "core/names/refusals.h"
#include "core/store/as_caller.h"
#include "core/store/store_links.h"
#include "core/vfs/stored_as_caller.h"

namespace zarrfs {

Result<std::shared_ptr<OpenFile>> PassThrough::open_to_read(const NamedNode& node) {
  Store& store = *parts_.shared.store;
  // Where this process may not act for others, the modes that are shown have told the kernel what
  // they may.
  ZARRFS_TRY(auto file,
             may_act_for_others() ? open_as_caller(store, node.path) : store.open(node.path));
  if (file == nullptr || file_version(file->status()) != node.version) return stale(node.path);
  return std::make_shared<PassThroughFile>(std::move(file), parts_.shared.options.immutable,
                                           entries_.shown_as_pass_through(node.path));
}

Result<std::shared_ptr<OpenFile>> PassThrough::open_to_write(const NamedNode& node, int flags) {
  ZARRFS_TRY(auto file, open_or_create(node.path, flags & ~O_TRUNC, 0));
  const auto status = parts_.shared.store->status(node.path);
  Result<void> done;
  if (!status) done = fail(status.error());
  if (status && (!*status || file_version(**status) != node.version)) done = stale(node.path);
  if (done && (flags & O_TRUNC) != 0) done = file->resize(0);
  if (!done) file->closed();
  return done ? Result<std::shared_ptr<OpenFile>>(std::move(file)) : fail(done.error());
}

Result<std::shared_ptr<OpenFile>> PassThrough::create(const std::string& path, int flags,
                                                      mode_t mode) {
  return open_or_create(path, flags | O_CREAT, mode);
}

Result<std::shared_ptr<StoredFile>> PassThrough::open_or_create(const std::string& path, int flags,
                                                                mode_t mode) {
  // The kernel places the bytes of O_APPEND itself.
  ZARRFS_TRY(const std::uint64_t number, parts_.creation_gate.opened(path, (flags & O_CREAT) != 0));
  const auto closed = [this, number] { parts_.creation_gate.closed(number); };
  auto descriptor = open_plain_as_caller(*parts_.shared.store, path, flags & ~O_APPEND, mode);
  if (!descriptor || !descriptor->valid()) {
    closed();
    return descriptor ? fail(Fault::kStale, "/" + path + " is gone") : fail(descriptor.error());
  }
  return std::make_shared<StoredFile>(std::move(*descriptor), "/" + path,
                                      entries_.shown_as_pass_through(path), closed);
}

Result<InodeEntry> PassThrough::link(const NamedNode& from, const Name& target) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  ZARRFS_TRY(const Fd file, parts_.shared.store->open_plain(from.path, O_RDONLY, 0));
  struct stat status {};
  const bool same =
      file.valid() && ::fstat(file.get(), &status) == 0 && file_version(status) == from.version;
  if (!same) return refused(Fault::kStale, from.path, "it is another file now");
  ZARRFS_TRY(const Fd directory, parts_.shared.store->open_plain(parent_path(target.store_path),
                                                                 O_RDONLY | O_DIRECTORY, 0));
  if (!directory.valid()) return refused(Fault::kStale, target.path, "its directory is gone");
  const std::string opened = "/proc/self/fd/" + std::to_string(file.get());
  if (::linkat(AT_FDCWD, opened.c_str(), directory.get(), last_name(target.store_path).c_str(),
               AT_SYMLINK_FOLLOW) != 0 ||
      ::fstat(file.get(), &status) != 0) {
    return fail(system_error(errno, "/" + target.path + ": linking /" + from.path + " to it"));
  }
  // The same node: the kernel learns its number of names.
  return entries_.look_up_pass_through(from.path, status);
}

Result<void> PassThrough::change_link(const NamedNode& node, const AttributeChange& change) {
  constexpr struct timespec kAsItIs = {0, UTIME_OMIT};
  const struct timespec times[2] = {change.accessed.value_or(kAsItIs),
                                    change.modified.value_or(kAsItIs)};
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  StoreLinks* links = links_of(*parts_.shared.store);
  if (links == nullptr) return refused(Fault::kStale, node.path, "it is gone");
  return links->change_link(node.path, change.owner.value_or(static_cast<uid_t>(-1)),
                            change.group.value_or(static_cast<gid_t>(-1)), times);
}

Result<void> PassThrough::change(const NamedNode& node, const AttributeChange& change) {
  const std::string& path = node.path;
  const bool directory = node.kind == NamedNode::Kind::kDirectory;
  const int kind = directory ? O_DIRECTORY : 0;
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  ZARRFS_TRY(const Fd descriptor, parts_.shared.store->open_plain(path, O_RDONLY | kind, 0));
  struct stat status {};
  const bool same = descriptor.valid() && ::fstat(descriptor.get(), &status) == 0 &&
                    (directory || file_version(status) == node.version);
  if (!same) return refused(Fault::kStale, path, "it is gone");
  ZARRFS_CHECK(change_opened(descriptor.get(), "/" + path, change));
  parts_.nodes.forget();
  parts_.permissions.forget(path);
  return {};
}

}  // namespace zarrfs
