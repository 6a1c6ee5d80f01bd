// Changes to the attributes of a node: size, mode, owner, times.
#include <fcntl.h>
#include <sys/stat.h>

#include "core/store/as_caller.h"
#include "core/vfs/open_files.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

Result<Found> StoreView::change_stored(NodeId node, const NamedNode& stored,
                                       const AttributeChange& change) {
  const std::string& path = stored.path;
  const bool directory = stored.kind == NamedNode::Kind::kDirectory;
  const int kind = directory ? O_DIRECTORY : 0;
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  ZARRFS_TRY(const Fd descriptor, shared_.store->open_plain(path, O_RDONLY | kind, 0));
  struct stat status {};
  const bool same = descriptor.valid() && ::fstat(descriptor.get(), &status) == 0 &&
                    (directory || file_version(status) == stored.version);
  if (!same) return fail(Fault::kStale, "/" + path + ": it is gone");
  ZARRFS_CHECK(change_opened(descriptor.get(), "/" + path, change));
  nodes_.forget();
  permissions_.forget(path);
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

Result<void> StoreView::check_mode_kept(NodeId node, const AttributeChange& change,
                                        OpenFile* file) {
  if (!permissions_.wanted() || !change.mode) return {};
  mode_t shown = 0;
  if (file != nullptr) {
    ZARRFS_TRY(const auto own, file->attributes());
    if (own) shown = own->status.st_mode;
  }
  if (shown == 0) {
    ZARRFS_TRY(const Found now, attributes(node));
    shown = now.status.st_mode;
  }
  if ((shown & ~*change.mode & ACCESSPERMS) == 0) return {};
  return fail(Fault::kForbidden,
              "the permissions of what is presented are those of the stored files: change those");
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
    if (more && file != nullptr) {
      ZARRFS_TRY(const bool stored, file->change(change));
      if (stored) nodes_.forget();
    } else if (more && node < kFirstChunkNode) {
      ZARRFS_TRY(const Target target, resolve(node));
      const bool directory = target.named && target.named->kind == NamedNode::Kind::kDirectory &&
                             target.state->kind == NodeState::Kind::kForeign;
      if (directory || (target.named && target.named->kind == NamedNode::Kind::kForeign)) {
        return change_stored(node, *target.named, change);
      }
    }
    ZARRFS_CHECK(check_mode_kept(node, change, file));
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
