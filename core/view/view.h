// The file system that zarrfs shows, free of FUSE: directories, documents (.zarray, zarr.json,
// ...), one file per inner chunk, and what else is in the store, unchanged. fs/ only carries
// questions and answers between this and the kernel.
//
// Thread-safe. docs/architecture.md, "Locks", has the locks that are
// held across I/O.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/view/node_id.h"

namespace zarrfs {

/// The extended attribute of a directory that tells which documents were refused in it, and of the
/// root, in the whole mount: a line for each.
inline constexpr const char* kRefusedAttribute = "user.zarrfs.refused";

class StoreWatch;

/// A node as the kernel is told about it.
struct InodeEntry {
  NodeId id = 0;
  struct stat status {};  ///< st_ino stable, st_size exact.
  /// Of a chunk: another number once its shard, its array's metadata or how that is shown is
  /// another one. 0: the status tells.
  std::uint64_t version = 0;
  /// Of a chunk: when the document of its array was changed, which may change what the chunk shows.
  struct timespec described {};
  /// Whether it may be cached for ever (immutable stores) rather than for the default time.
  bool immutable = false;
  /// Being written: it must not be cached at all.
  bool uncached = false;
  /// It may be cached for this long: the node is told of where that changes (see lend_names).
  std::chrono::seconds lent{0};
};

/// What a read gives: a slice of a descriptor, or bytes. Always clamped to the file shown.
struct ReadPlan {
  int descriptor = -1;  ///< Valid as long as the OpenFile; -1 where `bytes` is the answer.
  ByteRange range;      ///< Within the descriptor.
  ByteView bytes;       ///< Valid as long as the OpenFile, or as `own`.
  std::shared_ptr<const Bytes> own = nullptr;  ///< Holds `bytes` where they may change meanwhile.
};

/// What chmod, chown, utimensat and truncate ask for.
struct AttributeChange {
  std::optional<std::uint64_t> size;
  std::optional<mode_t> mode;
  std::optional<uid_t> owner;
  std::optional<gid_t> group;
  std::optional<struct timespec> accessed;
  std::optional<struct timespec> modified;
};

/// One opened file. What is opened for reading keeps the version it opened; what is opened for
/// writing shows what has been written so far. Thread-safe.
class OpenFile {
 public:
  virtual ~OpenFile() = default;

  // Of files opened for writing only; kReadOnly for others.
  virtual Result<void> write(std::uint64_t offset, ByteView bytes);
  virtual Result<void> resize(std::uint64_t size);
  /// At each close(2): what was written survives the death of this process when it returns.
  virtual Result<void> flush() { return {}; }
  /// fsync(2): what was written survives a power cut when it returns.
  virtual Result<void> sync() { return {}; }
  /// The last descriptor is gone.
  virtual void closed() {}
  /// The attributes of the opened file, where those of its node may be another's by now.
  virtual Result<std::optional<InodeEntry>> attributes() { return remembered_; }
  /// Changes mode, owner and times where it is a file of the store that passes through; whether it
  /// is.
  virtual Result<bool> change(const AttributeChange& /*change*/) { return false; }
  /// Whether flush, sync or closed would be kBusy now, because other programs have to do something
  /// first.
  [[nodiscard]] virtual bool must_wait() const { return false; }
  /// Why nothing of it can be read, where that is known before it is read.
  [[nodiscard]] virtual const Error* damage() const { return nullptr; }
  /// Keeps the attributes that it had when it was opened: it keeps its version, too.
  void remember(const InodeEntry& found) { remembered_ = found; }

  virtual Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) = 0;
  /// After the bytes of a plan's descriptor were read: kStale where they may be another version's.
  [[nodiscard]] virtual Result<void> confirm() const { return {}; }
  /// Whether pages cached by the kernel from an earlier open are still right.
  [[nodiscard]] virtual bool keep_cache() const = 0;
  [[nodiscard]] virtual bool direct_io() const { return false; }
  /// Whether it should be read past the kernel's cache, which would be right, too.
  [[nodiscard]] virtual bool past_cache() const { return false; }

 private:
  std::optional<InodeEntry> remembered_;  ///< Set before the file is handed out.
};

/// One name in a listing. `next` is the offset at which a later listing goes on after it.
struct Listed {
  std::string_view name;
  mode_t type = 0;  ///< S_IFREG, S_IFDIR or S_IFLNK.
  std::uint64_t inode = 0;
  std::uint64_t next = 0;
};

/// An opened directory: a position costs no memory that grows with the number of chunks.
class OpenDirectory {
 public:
  virtual ~OpenDirectory() = default;
  /// Calls `sink` for each entry from `offset` (0: the start) on until it returns false or there
  /// are no more.
  virtual Result<void> list(std::uint64_t offset,
                            const std::function<bool(const Listed&)>& sink) = 0;
  /// Another number once the listing may be another; nothing where nobody would tell (see
  /// lend_names). What is listed after the call is no older than its number.
  virtual std::optional<std::uint64_t> serial() { return std::nullopt; }
};

/// A file made by create().
struct Created {
  InodeEntry found;
  std::shared_ptr<OpenFile> file;
};

/// What find_and_open() found: as one lookup.
struct FoundAndOpened {
  InodeEntry found;
  std::shared_ptr<OpenFile> file;  ///< To read; null where it is no file.
};

/// A chunk that was written and could not be put into its shard.
struct Unpublished {
  std::string name;    ///< "/a/b chunk 0.1".
  std::string reason;  ///< One sentence.
};

class View {
 public:
  virtual ~View() = default;

  /// The child `name` of `parent`; nothing where it is proven absent. A found node counts as one
  /// lookup until forgotten.
  virtual Result<std::optional<InodeEntry>> find(NodeId parent, std::string_view name) = 0;
  /// kStale where the node's version is no longer the current one and it is not open.
  virtual Result<InodeEntry> attributes(NodeId node) = 0;
  /// Those of the version that is the current one by now, or of the file that has the name by now,
  /// for callers that cannot ask by name again; not to be kept.
  virtual Result<InodeEntry> attributes_by_now(NodeId node) { return attributes(node); }
  virtual Result<std::shared_ptr<OpenFile>> open_file(NodeId node) = 0;
  /// find(), and open_file() of what that found, in one look where it is a chunk.
  virtual Result<std::optional<FoundAndOpened>> find_and_open(NodeId parent,
                                                              std::string_view name) = 0;
  virtual Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId node) = 0;
  /// Where a symbolic link leads, as it is written; kInvalid of anything else.
  virtual Result<std::string> read_link(NodeId node);
  virtual void forget(NodeId node, std::uint64_t lookups) = 0;

  // Writing; all are kReadOnly where the view only reads. False, or nothing: there is no such name.

  [[nodiscard]] virtual bool writable() const { return false; }
  /// A new file, or the one that stands there, opened with the `flags` of open(2).
  virtual Result<Created> create(NodeId parent, std::string_view name, int flags, mode_t mode);
  virtual Result<std::shared_ptr<OpenFile>> open_for_writing(NodeId node, int flags);
  /// `file`: the opened file through which the change comes, or null. Modes, owners and times of
  /// what is presented (chunks, documents) stay as they are, without an error.
  virtual Result<InodeEntry> change(NodeId node, const AttributeChange& change, OpenFile* file);
  virtual Result<InodeEntry> make_directory(NodeId parent, std::string_view name, mode_t mode);
  /// A symbolic link; kForbidden where none may be, or where it may lead out of the store.
  virtual Result<InodeEntry> make_link(NodeId parent, std::string_view name,
                                       const std::string& target);
  virtual Result<bool> remove_file(NodeId parent, std::string_view name);
  virtual Result<bool> remove_directory(NodeId parent, std::string_view name);
  /// kCrossDevice where only copying leads from one name to the other.
  virtual Result<bool> rename(NodeId parent, std::string_view name, NodeId new_parent,
                              std::string_view new_name, bool replace);
  virtual Result<InodeEntry> link(NodeId node, NodeId new_parent, std::string_view new_name);
  /// Whether making, replacing or linking to this name would be kBusy now, because other programs
  /// have to do something first.
  virtual bool must_wait(NodeId /*parent*/, std::string_view /*name*/) { return false; }
  /// fsync(2) of what is not open for writing: what was written to it, or below it, survives a
  /// power cut.
  virtual Result<void> sync(NodeId node);
  /// Puts all that was written into its shards.
  virtual Result<void> publish();
  /// Publishes, and ends writing.
  virtual Result<void> close() { return {}; }
  /// What could not be published; not what is still to be.
  virtual std::vector<Unpublished> unpublished() { return {}; }

  virtual Result<std::vector<std::string>> attribute_names(NodeId node) = 0;
  /// kNoData where there is none of that name.
  virtual Result<std::string> attribute(NodeId node, const std::string& name) = 0;

  /// From now on the kernel may keep for longer what `watch` would tell changes of, listings have
  /// serials, and `recall` names each node whose attributes it has to forget. Called once, before
  /// the first request, and end_lending before either of them goes.
  virtual Result<void> lend_names(std::shared_ptr<StoreWatch> watch,
                                  std::function<void(NodeId)> recall) = 0;
  virtual void end_lending() {}

  /// Nodes that the kernel is to be asked to forget, where it does not use them: more are known by
  /// name than there is memory for. To be called again after a while.
  virtual std::vector<NodeId> spare_nodes() { return {}; }

  virtual Result<struct statvfs> space() = 0;

  /// `.zarrfs/report.json`: how each array met so far is shown, and why.
  virtual std::string report() = 0;
  /// What the mounter should know of how the store is shown, in one line; empty if nothing.
  [[nodiscard]] virtual std::string notice() const { return {}; }
  /// The members that this layer adds to `.zarrfs/stats.json`; the front end passes its own through
  /// set_front_statistics.
  virtual void set_front_statistics(std::function<std::string()> render_json_object) = 0;
};

}  // namespace zarrfs
