// The file system that zarrfs shows, free of FUSE: directories, documents (.zarray, zarr.json,
// ...), one file per inner chunk, and what else is in the store, unchanged. fs/ only carries
// questions and answers between this and the kernel.
//
// Thread-safe. No lock is held across I/O.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/view/view_options.h"

namespace zarrfs {

/// The number by which the kernel names a node. Not the inode number: it also carries the version
/// of the shard's file, so that pages of two versions never mix. The root is 1.
using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;

/// A node as the kernel is told about it.
struct Found {
  NodeId id = 0;
  struct stat status {};  ///< st_ino stable, st_size exact.
  /// Whether it may be cached for ever (immutable stores) rather than for the default time.
  bool for_ever = false;
};

/// What a read gives: a slice of a descriptor, or bytes. Always clamped to the file shown.
struct ReadPlan {
  int descriptor = -1;  ///< Valid as long as the OpenFile; -1 where `bytes` is the answer.
  ByteRange range;      ///< Within the descriptor.
  ByteView bytes;       ///< Valid as long as the OpenFile.
};

/// One opened file. Keeps the version it opened. Thread-safe.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  virtual Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) = 0;
  /// Whether pages cached by the kernel from an earlier open are still right.
  [[nodiscard]] virtual bool keep_cache() const = 0;
  [[nodiscard]] virtual bool direct_io() const { return false; }
};

/// One name in a listing. `next` is the offset at which a later listing goes on after it.
struct Listed {
  std::string_view name;
  mode_t type = 0;  ///< S_IFREG or S_IFDIR.
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
};

class View {
 public:
  /// kInvalid or kUnsupported, by name, where the source cannot be shown.
  static Result<std::unique_ptr<View>> open(std::shared_ptr<Store> store,
                                            const ViewOptions& options);
  virtual ~View() = default;

  /// The child `name` of `parent`; nothing where it is proven absent. A found node counts as one
  /// lookup until forgotten.
  virtual Result<std::optional<Found>> find(NodeId parent, std::string_view name) = 0;
  /// kStale where the node's version is no longer the current one and it is not open.
  virtual Result<Found> attributes(NodeId node) = 0;
  virtual Result<std::shared_ptr<OpenFile>> open_file(NodeId node) = 0;
  virtual Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId node) = 0;
  virtual void forget(NodeId node, std::uint64_t lookups) = 0;

  virtual Result<std::vector<std::string>> attribute_names(NodeId node) = 0;
  /// kNoData where there is none of that name.
  virtual Result<std::string> attribute(NodeId node, const std::string& name) = 0;

  virtual Result<struct statvfs> space() = 0;

  /// `.zarrfs/report.json`: how each array met so far is shown, and why.
  virtual std::string report() = 0;
  /// The members that this layer adds to `.zarrfs/stats.json`; the front end passes its own through
  /// set_front_statistics.
  virtual void set_front_statistics(std::function<std::string()> render_json_object) = 0;
};

}  // namespace zarrfs
