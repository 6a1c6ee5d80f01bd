// Changes to the attributes of a node: size, mode, owner, times.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/view/store_view.h"

namespace zarrfs {

namespace {
Result<void> apply_change(int descriptor, const std::string& path, const AttributeChange& change) {
  const auto failed = [&path](const char* action) {
    return fail(system_error(errno, "/" + path + ": " + action));
  };
  if (change.mode && ::fchmod(descriptor, *change.mode & 07777U) != 0) {
    return failed("changing its mode");
  }
  if ((change.owner || change.group) &&
      ::fchown(descriptor, change.owner.value_or(static_cast<uid_t>(-1)),
               change.group.value_or(static_cast<gid_t>(-1))) != 0) {
    return failed("changing its owner");
  }
  if (!change.accessed && !change.modified) return {};
  constexpr struct timespec kAsItIs = {0, UTIME_OMIT};
  const struct timespec times[2] = {change.accessed.value_or(kAsItIs),
                                    change.modified.value_or(kAsItIs)};
  return ::futimens(descriptor, times) == 0 ? Result<void>{} : failed("changing its times");
}
}  // namespace

Result<Found> StoreView::change_stored(NodeId node, const std::string& path, bool directory,
                                       const AttributeChange& change) {
  const int kind = directory ? O_DIRECTORY : 0;
  ZARRFS_TRY(const Fd descriptor, shared_.store->open_plain(path, O_RDONLY | kind, 0));
  if (!descriptor.valid()) return fail(Fault::kStale, "/" + path + ": it is gone");
  ZARRFS_CHECK(apply_change(descriptor.get(), path, change));
  nodes_.forget();
  return attributes(node);
}

Result<std::shared_ptr<OpenFile>> StoreView::truncate(NodeId node, std::uint64_t size) {
  ZARRFS_TRY(auto file, open_for_writing(node, O_WRONLY | (size == 0 ? O_TRUNC : 0)));
  auto done = file->resize(size);
  if (done) done = file->flush();
  file->closed();
  ZARRFS_CHECK(done);
  return file;
}

Result<Found> StoreView::change(NodeId node, const AttributeChange& change, OpenFile* file) {
  const auto answer = [&]() -> Result<Found> {
    ZARRFS_CHECK(check_writing());
    std::shared_ptr<OpenFile> truncated;  // its node may stand for the version before
    if (change.size && file != nullptr) {
      ZARRFS_CHECK(file->resize(*change.size));
    } else if (change.size) {
      ZARRFS_TRY(truncated, truncate(node, *change.size));
    }
    const bool more =
        change.mode || change.owner || change.group || change.accessed || change.modified;
    if (more && node < kFirstChunkNode) {
      ZARRFS_TRY(const Target target, resolve(node));
      const bool directory = target.named && target.named->kind == NamedNode::Kind::kDirectory &&
                             target.state->kind == NodeState::Kind::kForeign;
      if (directory || (target.named && target.named->kind == NamedNode::Kind::kForeign)) {
        return change_stored(node, target.named->path, directory, change);
      }
    }
    if (OpenFile* changed = truncated != nullptr ? truncated.get() : file) {
      ZARRFS_TRY(auto own, changed->attributes());
      if (own) {
        own->id = node;
        return *own;
      }
    }
    return attributes(node);
  };
  return reported(answer());
}

}  // namespace zarrfs
