// Where the bytes of a store are kept: a tree of files named by paths relative to the store's root
// ("" is the root, "a/b" a node; no leading or trailing slash, no "." or ".." component).
//
// Absence is a value: a function that may find nothing returns an empty optional or pointer, and
// only when the storage answered clearly that there is no such name. Everything else is an Error.
// Thread-safe: all functions may be called at once from several threads.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/fd.h"
#include "core/base/result.h"

namespace zarrfs {

/// Which file stands at a path, and in which state. Two equal identities: the same bytes, as far
/// as the storage can tell without reading them.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identity_of(const struct stat& status);
/// With ctime in place of mtime: two files of one path may share number, size and mtime, where a
/// program that unpacks or copies sets the times. Of a file that is open it also changes where
/// nothing but a name of it does.
FileIdentity identity_by_ctime(const struct stat& status);

struct FilePlace;

/// A file opened for reading. Keeps the file it opened, whatever is renamed over its name.
class File {
 public:
  virtual ~File() = default;
  /// For messages: what the file is called.
  [[nodiscard]] virtual std::string name() const { return "file"; }
  /// The status when it was opened.
  [[nodiscard]] virtual const struct stat& status() const = 0;
  /// The status now.
  [[nodiscard]] virtual Result<struct stat> current_status() const = 0;
  /// Reads up to `out.size()` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const = 0;
  /// A descriptor for handing bytes on without copying; -1 where there is none.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  /// Reads all bytes and compares their checksum (kDamaged), where the store has one of the whole
  /// file (StoreTraits::checksums).
  [[nodiscard]] virtual Result<void> check_whole() const { return {}; }
  /// Advice: `range` is going to be read soon. Never waits for it.
  virtual void fetch(ByteRange /*range*/) const {}
  /// The path that the store has it under, where that tells which file it is.
  [[nodiscard]] virtual std::string path() const { return {}; }
  /// The server's word for the version that was opened, an ETag; empty where there is none.
  [[nodiscard]] virtual std::string version_tag() const { return {}; }
  /// Where its bytes lie, if it is no stored file as a whole.
  [[nodiscard]] virtual std::optional<FilePlace> place() const;
  /// Whether it was opened as it was seen before, since the server did not answer: what is absent
  /// in it may be there now.
  [[nodiscard]] virtual bool may_be_outdated() const { return false; }

  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(status().st_size); }
  [[nodiscard]] FileIdentity identity() const { return identity_of(status()); }
  /// Exactly `range`, or an error: kStale where the file was changed in place since it was opened,
  /// kInvalid where `range` does not lie within the file.
  [[nodiscard]] Result<Bytes> read_range(ByteRange range) const;
};

/// Where the bytes of a file lie: in one version of a stored file.
struct FilePlace {
  std::shared_ptr<const File> whole;
  std::string path;       ///< The stored file's.
  ByteRange range;        ///< Of the stored file.
  bool as_stored = true;  ///< Else the bytes are made of those of the range.
};

/// A file being written: made by Store::create, complete when synced, and under its final name only
/// after Store::rename. Closing without rename leaves it for its owner to remove.
class NewFile {
 public:
  virtual ~NewFile() = default;
  virtual Result<void> write_at(std::uint64_t offset, ByteView bytes) = 0;
  /// Copies `range` of `from` to `offset`, sharing blocks where the file system can.
  virtual Result<void> copy_range(const File& from, ByteRange range, std::uint64_t offset) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  /// Advice: what was written is complete and may go to the disk now. Promises nothing: see sync.
  virtual void begin_sync() {}
  /// Durable when it returns. Never retried after a failure: see fsync(2) and lost pages. Times are
  /// not part of it.
  virtual Result<void> sync() = 0;
  /// Reads what was written, also before it is synced.
  virtual Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const = 0;
  [[nodiscard]] virtual Result<struct stat> status() const = 0;
  [[nodiscard]] virtual int descriptor() const { return -1; }
  /// False once a program has removed its last name: what is written and synced goes with it.
  [[nodiscard]] virtual bool has_name() const { return true; }
};

enum class EntryKind { kFile, kDirectory, kOther };

struct Entry {
  std::string name;
  EntryKind kind = EntryKind::kFile;
};

/// A file's whole contents with its status at that moment.
struct Document {
  std::string text;
  struct stat status {};
};

/// What a store can do, and what is cheap in it. The same as long as the store is open; a store
/// that lies over another one computes its own from those below.
struct StoreTraits {
  /// A name that is absent may have a file as its parent, and the status of a directory tells when
  /// its listing changed. False: directories are only prefixes of keys.
  bool directories = true;
  /// False: nothing tells which names there are, but what is stored in the store itself; list()
  /// is kUnsupported, and status() knows objects only.
  bool lists = true;
  /// False: each request waits for a network, and many may wait at once.
  bool near = true;
  /// The kernel tells of each change that another program makes (inotify).
  bool watchable = false;
  /// Manifests tell where its bytes are, and those used last are kept in memory.
  bool manifests = false;
  /// There is a checksum of each whole file: see File::check_whole().
  bool checksums = false;
};

/// How a file is going to be read: what the first request for it should bring.
struct OpenHint {
  enum class Part { kUnknown, kStart, kEnd, kWhole, kRange };
  Part part = Part::kUnknown;
  std::uint64_t bytes = 0;   ///< At the start or end, or from `offset` on.
  std::uint64_t offset = 0;  ///< Of kRange.
  bool operator==(const OpenHint&) const = default;
};

class ChunksElsewhere;
class ConditionalWriter;
class StoreLinks;
class StoreUsers;

class Store {
 public:
  virtual ~Store() = default;

  /// For messages: what the user called the store.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual StoreTraits traits() const = 0;

  // Reading. Symbolic links are followed as the store's policy allows; a link that leaves the
  // store is kDenied, a circle kLoop.

  virtual Result<std::optional<struct stat>> status(const std::string& path) = 0;
  /// Null where there is no such file. A directory is an Error of kInvalid; a pipe, socket or
  /// device one of kUnsupported, and never waited for. A link that leads nowhere is an Error of
  /// kIo: whoever made it meant something to be there.
  virtual Result<std::shared_ptr<File>> open(const std::string& path) = 0;
  /// All entries but "." and "..", in the storage's order; nothing where there is no such
  /// directory. A link that leads nowhere or may not be followed is listed as a file: opening it
  /// tells why.
  virtual Result<std::optional<std::vector<Entry>>> list(const std::string& path) = 0;
  /// A symbolic link's status itself is never shown: links look like what they lead to.
  virtual Result<struct statvfs> space();
  /// As open(), where it is known how the file is going to be read.
  virtual Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint);
  /// A whole small file; nothing where there is none; kDamaged where it is larger than `limit`.
  Result<std::optional<Document>> read_document(const std::string& path, std::size_t limit);

  // What makes stores far away bearable; near ones have no use for it.

  /// Advice: these files are going to be opened so. Asks for many at once, and waits for them.
  virtual void expect(std::span<const std::string> /*paths*/, const OpenHint& /*hint*/) {}
  /// The same, and does not wait.
  virtual void open_ahead(std::span<const std::string> /*paths*/, const OpenHint& /*hint*/) {}
  /// As open(), but null where that takes a request.
  virtual std::shared_ptr<File> open_seen(const std::string& /*path*/) { return nullptr; }
  /// Bytes that may be asked for in advance before they are read.
  [[nodiscard]] virtual std::uint64_t room_ahead() const { return UINT64_MAX; }
  /// Advice: what is below `path` is going to be listed, `needed` first, which is below it or the
  /// same. May list all of it at once.
  virtual Result<void> list_below(const std::string& /*path*/, const std::string& /*needed*/) {
    return {};
  }
  /// Whether the server does not answer, and what was seen of it before is shown. What is known to
  /// be absent is an Error of kIo then.
  [[nodiscard]] virtual bool shows_what_was_seen() const { return false; }
  /// What was asked of a network so far, as the members of a JSON object; empty where there is
  /// none.
  [[nodiscard]] virtual std::string statistics() const { return {}; }

  // Writing. A store that overrides none of this is only read: each is kReadOnly. Links are never
  // followed in the last component, and never out of the store. Parents must exist. None of these
  // syncs a directory: call sync_directory.

  /// A new file, exclusively: kExists where the name is taken.
  virtual Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode);
  /// A new file with the bytes of `from`, whose blocks it shares; null where the storage cannot
  /// share them.
  virtual Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                                 mode_t mode);
  /// An existing file for writing on (a log, a successor of an earlier run); null where absent.
  virtual Result<std::unique_ptr<NewFile>> reopen(const std::string& path);
  /// Atomically; replaces a file that stands at `to`.
  virtual Result<void> rename(const std::string& from, const std::string& to);
  /// Removing what is absent succeeds.
  virtual Result<void> remove(const std::string& path);
  virtual Result<void> make_directory(const std::string& path, mode_t mode);
  virtual Result<void> remove_directory(const std::string& path);
  virtual Result<void> sync_directory(const std::string& path);
  /// Plain open(2) of a file that is not Zarr's (created where flags say so): for what passes
  /// through unchanged. An Fd that is not valid where there is no such file.
  virtual Result<Fd> open_plain(const std::string& path, int flags, mode_t mode);
  /// Why this store cannot be written, or nothing where it can.
  virtual std::optional<std::string> why_read_only();
  /// kReadOnly where what stands at `path` is shown in another form than it is stored in, and so
  /// not changed, whatever the rest of the store allows.
  virtual Result<void> check_changeable(const std::string& /*path*/) { return {}; }
  /// The name of the format that the node at `path` is told by ("Neuroglancer precomputed"), once
  /// its zarr.json has been asked for; empty where it is Zarr's own.
  [[nodiscard]] virtual std::string format_of(const std::string& /*path*/) const { return {}; }
  /// How whole files are replaced on conditions; null where they are renamed over each other.
  virtual ConditionalWriter* conditional_writer() { return nullptr; }
  /// The owners and permissions of its files; null where they have none.
  virtual StoreUsers* users() { return nullptr; }
  /// Its symbolic links; null where it has none.
  virtual StoreLinks* links() { return nullptr; }
  /// What the store tells of chunks whose bytes lie in other files; null where it has none.
  virtual ChunksElsewhere* chunks_elsewhere() { return nullptr; }

 private:
  [[nodiscard]] tl::unexpected<Error> only_read(const std::string& path) const;
};

/// What symbolic links may do.
enum class LinkPolicy {
  kInside,  ///< A link that leaves the store is kDenied.
  kFollow,  ///< Links lead where they lead.
};

/// Opens SOURCE where it is a directory, as a path or a file:// URL.
/// `keep_open`: how many of the files that were opened last are kept open and opened no second
/// time; more than 0 only for a store in which nothing changes.
Result<std::unique_ptr<Store>> open_store(const std::string& source, LinkPolicy links,
                                          std::size_t keep_open = 0);

/// The local path of SOURCE (made absolute), where it has one.
Result<std::string> local_path(const std::string& source);

}  // namespace zarrfs
