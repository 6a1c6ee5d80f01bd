#include "core/names/statuses.h"

#include "core/chunks/chunk_writer.h"
#include "core/chunks/rechunk.h"
#include "core/names/documents.h"

namespace zarrfs {

namespace {
constexpr mode_t kModeBits = 0777;
constexpr mode_t kReadable = 0444;
constexpr mode_t kSearchable = 0555;
constexpr mode_t kChangeable = 0222;
constexpr blksize_t kBlockSize = 65536;
constexpr std::uint64_t kSectorSize = 512;

void set_size(struct stat& status, std::uint64_t size) {
  status.st_size = static_cast<off_t>(size);
  status.st_blocks = static_cast<blkcnt_t>(divide_up(size, kSectorSize));
  status.st_blksize = kBlockSize;
}

struct stat like_status(const struct stat& like, std::uint64_t inode) {
  struct stat status {};
  status.st_ino = inode;
  status.st_nlink = 1;  // of directories: "not counted", as on btrfs
  status.st_uid = like.st_uid;
  status.st_gid = like.st_gid;
  status.st_atim = like.st_mtim;
  status.st_mtim = like.st_mtim;
  status.st_ctim = like.st_ctim;
  return status;
}
}  // namespace

mode_t Statuses::changeable() const { return shared_.writes != nullptr ? kChangeable : 0; }

mode_t Statuses::masked(mode_t bits) const { return bits & ~shared_.options.umask; }

void Statuses::permit(struct stat& status, const Permissions& permissions) const {
  const mode_t most = (S_ISDIR(status.st_mode) ? kSearchable : kReadable) | changeable();
  status.st_mode = (status.st_mode & S_IFMT) | masked(permissions.bits & most);
  status.st_uid = permissions.owner;
  status.st_gid = permissions.group;
  apply_owner(status);
}

void Statuses::permit(struct stat& status, const std::string& path, const std::string& top) const {
  if (!permissions_.wanted()) return;
  const auto stored = permissions_.of(path, top);
  const Permissions none{status.st_uid, status.st_gid, 0};
  permit(status, stored && *stored ? **stored : none);
}

Result<Permissions> Statuses::chunk_permissions(const ArrayView& array, const Coordinates& chunk,
                                                const ChunkBytes* draft) const {
  const StoredPermissions& stored = permissions_;
  std::optional<Permissions> all;
  const auto add = [&](const std::string& path) -> Result<void> {
    ZARRFS_TRY(const auto one, stored.of(path, array.path));
    if (one) all = all ? both(*all, *one) : *one;
    return {};
  };
  if (array.presentation.rule == ByteRule::kRechunk) {
    ZARRFS_CHECK(visit_overlapped_cells(array, chunk, [&](const Coordinates& cell) {
      return add(array.reader->shard_path(cell));
    }));
  } else {
    ZARRFS_CHECK(add(ChunkWriter::shard_of(array, chunk)));
  }
  if (all) return *all;
  if (draft != nullptr && draft->file != nullptr) return permissions_of(draft->file->status());
  ZARRFS_CHECK(add(join_path(array.path, kStoredDocument)));  // it is made up of the document
  return all.value_or(Permissions());
}

void Statuses::permit_chunk(struct stat& status, const ArrayView& array, const Coordinates& chunk,
                            const ChunkBytes* draft) const {
  if (!permissions_.wanted()) return;
  const auto stored = chunk_permissions(array, chunk, draft);
  permit(status, stored ? *stored : Permissions{status.st_uid, status.st_gid, 0});
}

void Statuses::apply_owner(struct stat& status) const {
  if (shared_.options.uid) status.st_uid = *shared_.options.uid;
  if (shared_.options.gid) status.st_gid = *shared_.options.gid;
}

struct stat Statuses::directory_status(const struct stat& like, std::uint64_t inode) const {
  struct stat status = like_status(like, inode);
  status.st_mode = S_IFDIR | masked(kSearchable | changeable());
  set_size(status, 0);
  apply_owner(status);
  return status;
}

struct stat Statuses::file_status(const struct stat& like, std::uint64_t inode,
                                  std::uint64_t size) const {
  struct stat status = like_status(like, inode);
  status.st_mode = S_IFREG | masked(kReadable | changeable());
  set_size(status, size);
  apply_owner(status);
  return status;
}

struct stat Statuses::of_directory(const NodeState& directory) const {
  if (directory.kind == NodeState::Kind::kPassThrough) {
    return of_pass_through(directory.node.status, directory.path);
  }
  struct stat status = directory_status(directory.node.status, inode_of(directory.path));
  permit(status, directory.path, directory.path);
  return status;
}

struct stat Statuses::of_prefix(const NodeState& array, std::uint64_t inode) const {
  struct stat status = directory_status(array.node.status, inode);
  permit(status, array.path, array.path);
  return status;
}

struct stat Statuses::of_document(const NodeState& node, const std::string& path,
                                  const DocumentText& document) const {
  struct stat like = node.node.status;
  like.st_mtim = document.modified;
  struct stat status = file_status(like, inode_of(path), document.text->size());
  const std::string stored =
      node.has_document() ? join_path(node.path, kStoredDocument) : node.path;
  permit(status, stored, node.path);
  return status;
}

struct stat Statuses::of_link(struct stat status) const {
  status.st_ino = inode_of_stored(status.st_dev, status.st_ino);
  apply_owner(status);
  return status;
}

struct stat Statuses::of_pass_through(struct stat status, const std::string& path) const {
  const bool directory = S_ISDIR(status.st_mode);
  status.st_ino = directory ? inode_of(path) : inode_of_stored(status.st_dev, status.st_ino);
  if (directory) status.st_nlink = 1;
  const mode_t shared_directory = S_ISDIR(status.st_mode) ? status.st_mode & S_ISVTX : 0;
  status.st_mode = (status.st_mode & S_IFMT) | (status.st_mode & kModeBits);
  if (permissions_.wanted()) {
    // What has lost its name is not found by it: its own bits hold.
    const auto stored = permissions_.of(path, path);
    if (stored && *stored) status.st_mode = (status.st_mode & S_IFMT) | (*stored)->bits;
    status.st_mode |= shared_directory;
  }
  apply_owner(status);
  return status;
}

struct stat Statuses::of_chunk(const NodeState& array, const Coordinates& at,
                               const ShownPlace& place, const ShownChunk& chunk) const {
  const std::uint64_t inode = inode_of(array.path, place.number);
  struct stat status = file_status(chunk.stored, inode, chunk.size);
  permit_chunk(status, array.shown, at, chunk.bytes ? &*chunk.bytes : nullptr);
  return status;
}

}  // namespace zarrfs
