// What stat tells of the nodes of a view, and the documents about the view itself.
#include <algorithm>

#include "core/base/hash.h"
#include "core/chunks/rechunk.h"
#include "core/store/object_store.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

namespace {
constexpr mode_t kPermissions = 0777;
constexpr mode_t kReadable = 0444;
constexpr mode_t kSearchable = 0555;
constexpr mode_t kChangeable = 0222;
constexpr mode_t kOwnerOnly = 0700;
constexpr blksize_t kBlockSize = 65536;
constexpr std::uint64_t kSectorSize = 512;
constexpr std::uint64_t kOwnPadding = 4096;

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

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string_view as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint64_t file_version(const struct stat& status) {
  return mix_numbers(status.st_dev, status.st_ino);
}

mode_t StoreView::changeable() const { return writable() ? kChangeable : 0; }

mode_t StoreView::masked(mode_t bits) const { return bits & ~shared_.options.umask; }

void StoreView::permit(struct stat& status, const Permissions& permissions) const {
  const mode_t most = (S_ISDIR(status.st_mode) ? kSearchable : kReadable) | changeable();
  status.st_mode = (status.st_mode & S_IFMT) | masked(permissions.bits & most);
  status.st_uid = permissions.owner;
  status.st_gid = permissions.group;
  apply_owner(status);
}

void StoreView::permit(struct stat& status, const std::string& path, const std::string& top) const {
  if (!permissions_.wanted()) return;
  const auto stored = permissions_.of(path, top);
  const Permissions none{status.st_uid, status.st_gid, 0};
  permit(status, stored && *stored ? **stored : none);
}

Result<Permissions> StoreView::chunk_permissions(const ArrayView& array, const Coordinates& chunk,
                                                 const ChunkBytes* draft) const {
  const StoredPermissions& stored = permissions_;
  std::optional<Permissions> all;
  const auto add = [&](const std::string& path) -> Result<void> {
    ZARRFS_TRY(const auto one, stored.of(path, array.path));
    if (one) all = all ? both(*all, *one) : *one;
    return {};
  };
  if (array.presentation.rule == ByteRule::kRechunk) {
    ZARRFS_CHECK(visit_overlapped_cells(
        array, chunk, [&](const Coordinates& cell) { return add(array.reader->cell_path(cell)); }));
  } else {
    ZARRFS_CHECK(add(ChunkWriter::shard_of(array, chunk)));
  }
  if (all) return *all;
  if (draft != nullptr && draft->file != nullptr) return permissions_of(draft->file->status());
  ZARRFS_CHECK(add(join_path(array.path, kStoredDocument)));  // it is made up of the document
  return all.value_or(Permissions());
}

void StoreView::permit_chunk(struct stat& status, const ArrayView& array, const Coordinates& chunk,
                             const ChunkBytes* draft) const {
  if (!permissions_.wanted()) return;
  const auto stored = chunk_permissions(array, chunk, draft);
  permit(status, stored ? *stored : Permissions{status.st_uid, status.st_gid, 0});
}

void StoreView::apply_owner(struct stat& status) const {
  if (shared_.options.uid) status.st_uid = *shared_.options.uid;
  if (shared_.options.gid) status.st_gid = *shared_.options.gid;
}

struct stat StoreView::directory_status(const struct stat& like, std::uint64_t inode) const {
  struct stat status = like_status(like, inode);
  status.st_mode = S_IFDIR | masked(kSearchable | changeable());
  set_size(status, 0);
  apply_owner(status);
  return status;
}

struct stat StoreView::file_status(const struct stat& like, std::uint64_t inode,
                                   std::uint64_t size) const {
  struct stat status = like_status(like, inode);
  status.st_mode = S_IFREG | masked(kReadable | changeable());
  set_size(status, size);
  apply_owner(status);
  return status;
}

struct stat StoreView::status_of(const NodeState& directory) const {
  if (directory.kind == NodeState::Kind::kForeign) {
    return foreign_status(directory.node.status, directory.path);
  }
  struct stat status = directory_status(directory.node.status, inode_of(directory.path));
  permit(status, directory.path, directory.path);
  return status;
}

struct stat StoreView::prefix_status(const NodeState& array, std::uint64_t inode) const {
  struct stat status = directory_status(array.node.status, inode);
  permit(status, array.path, array.path);
  return status;
}

struct stat StoreView::document_status(const NodeState& node, const std::string& path,
                                       std::uint64_t size) const {
  struct stat status = file_status(node.node.status, inode_of(path), size);
  const std::string stored =
      node.has_document() ? join_path(node.path, kStoredDocument) : node.path;
  permit(status, stored, node.path);
  return status;
}

struct stat StoreView::foreign_status(struct stat status, const std::string& path) const {
  const bool directory = S_ISDIR(status.st_mode);
  status.st_ino = directory ? inode_of(path) : inode_of_stored(status.st_dev, status.st_ino);
  if (directory) status.st_nlink = 1;
  const mode_t shared_directory = S_ISDIR(status.st_mode) ? status.st_mode & S_ISVTX : 0;
  status.st_mode = (status.st_mode & S_IFMT) | (status.st_mode & kPermissions);
  if (permissions_.wanted()) {
    // What has lost its name is not found by it: its own bits hold.
    const auto stored = permissions_.of(path, path);
    if (stored && *stored) status.st_mode = (status.st_mode & S_IFMT) | (*stored)->bits;
    status.st_mode |= shared_directory;
  }
  apply_owner(status);
  return status;
}

struct stat StoreView::chunk_status(const NodeState& array, const NamedPart& part,
                                    const ShownChunk& chunk) const {
  const std::uint64_t inode = inode_of(array.path, array.shown.names.number_of(part));
  struct stat status = file_status(chunk.stored, inode, chunk.size);
  permit_chunk(status, array.shown, part.coordinates, chunk.bytes ? &*chunk.bytes : nullptr);
  return status;
}

struct stat StoreView::own_status(const NamedNode& node) {
  struct stat like {};
  like.st_uid = ::getuid();
  like.st_gid = ::getgid();
  like.st_mtim = started_;
  like.st_ctim = started_;
  const std::uint64_t inode = inode_of(node.path);
  if (node.kind == NamedNode::Kind::kOwnFolder) return directory_status(like, inode);
  // Always new: a kernel that reads without opening drops what it has of an older file.
  ::clock_gettime(CLOCK_REALTIME, &like.st_mtim);
  struct stat status = file_status(like, inode, own_text(node).size());
  // The report names what not everybody may see, and its pages are the same for all.
  if (permissions_.wanted() && node.kind == NamedNode::Kind::kReport) {
    status.st_mode &= S_IFMT | kOwnerOnly;
    status.st_uid = ::getuid();
  }
  return status;
}

std::string StoreView::own_text(const NamedNode& node) {
  std::string text = node.kind == NamedNode::Kind::kReport ? report() : statistics();
  if (!shared_.options.immutable) return text;
  // The kernel may read without opening, up to the size it was told at lookup: blanks make the size
  // one that hardly ever changes.
  text.insert(text.size() - 1, divide_up(text.size(), kOwnPadding) * kOwnPadding - text.size(),
              ' ');
  return text;
}

std::string StoreView::report() {
  Json document = {{"source", shared_.store->name()},
                   {"view", shared_.options.format == ViewFormat::kV2 ? "v2" : "v3"},
                   {"profile", shared_.profile.name}};
  if (!shared_.profile_because.empty()) document["profile_because"] = shared_.profile_because;
  document.update(shared_.reporter.render());
  if (writable()) {
    document["unpublished"] = Json::object();
    for (const Unpublished& one : unpublished()) document["unpublished"][one.name] = one.reason;
  }
  return dump_document(document);
}

std::string StoreView::statistics() {
  std::function<std::string()> front;
  {
    const std::lock_guard lock(front_mutex_);
    front = front_statistics_;
  }
  const ReadCounters& counters = *shared_.counters;
  Json document = {{"index_reads", counters.index_reads.load()},
                   {"index_hits", counters.index_hits.load()},
                   {"chunk_reads", counters.range_reads.load()},
                   {"chunk_bytes_read", counters.bytes.load()},
                   {"whole_shards_decoded", counters.whole_shards.load()},
                   {"index_cache_bytes", shared_.indexes->bytes()},
                   {"named_nodes", table_.size()}};
  if (const auto* objects = dynamic_cast<const ObjectStore*>(shared_.store.get())) {
    const auto remote = parse_json(objects->statistics(), "statistics");
    if (remote) document["remote"] = *remote;
  }
  if (writable()) {
    const WriteStatistics writes = shared_.writes->statistics();
    document["chunks_written"] = writes.puts;
    document["chunk_bytes_written"] = writes.bytes_put;
    document["shards_rewritten"] = writes.commits;
    document["shard_rewrites_failed"] = writes.failed_commits;
    document["shard_bytes_rewritten"] = writes.bytes_committed;
    document["shards_unpublished"] = writes.dirty_shards;
    document["chunks_unpublished"] = writes.drafts;
    document["log_bytes"] = writes.log_bytes;
  }
  if (const auto members = parse_json(front(), "front statistics");
      members && members->is_object()) {
    document.update(*members);
  }
  return dump_document(document);
}

void StoreView::set_front_statistics(std::function<std::string()> render_json_object) {
  const std::lock_guard lock(front_mutex_);
  front_statistics_ = std::move(render_json_object);
}

}  // namespace zarrfs
