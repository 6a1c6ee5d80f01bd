// Files that programs write, from open to where their bytes go: a chunk to its shard, a document to
// the node's, any other into the store as it is. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/vfs/caller_rights.h"
#include "core/vfs/documents.h"
#include "core/vfs/entries.h"
#include "core/vfs/name.h"
#include "core/vfs/view.h"
#include "core/vfs/view_parts.h"

namespace zarrfs {

class StagedFiles {
 public:
  StagedFiles(ViewParts& parts, Documents& documents, Entries& entries, CallerRights& rights)
      : parts_(parts), documents_(documents), entries_(entries), rights_(rights) {}

  /// Opens what a program writes under the name, with the `flags` of open(2). `node`: by which it
  /// is opened; the root where it has none yet. `made` becomes the file that is written.
  Result<std::shared_ptr<OpenFile>> open(const Directory& directory, const Name& name, NodeId node,
                                         int flags, WorkPointer* made);
  /// The file that the node was given out for and no other, whatever its name is by now; kStale
  /// once nobody is writing it.
  Result<std::shared_ptr<OpenFile>> reopen(const NamedNode& named, NodeId node, int flags);
  /// Opens for reading, by its node, what others are writing.
  std::shared_ptr<OpenFile> open_to_read(WorkPointer work, NodeId node);

  // Of an opened file:
  Result<void> flush(Work& work);
  Result<void> sync(Work& work);
  void closed(const WorkPointer& work);
  [[nodiscard]] bool must_wait(const Work& work) const;

  // For who puts something else in its place. The caller holds the work's mutex.
  /// Under which `name` is among the works.
  static std::string key_of(const Directory& directory, const Name& name);
  using WorkLock = std::unique_lock<WorkMutex>;
  struct Displaced {
    WorkPointer work;
    WorkLock lock;
  };
  /// Locks the file that is being written under `key`, if any, and keeps `with` locked too.
  Displaced displaced(const std::string& key, WorkLock& with);
  /// What is being written under a name that was taken from it is nobody's any more.
  void unlink(const WorkPointer& work);
  /// The same of what is written under `key`, if anything; takes its mutex.
  void detach(const std::string& key);
  /// Puts a scratch file into the store.
  Result<void> write_out(Work& work);
  /// Removes what an earlier write_out has put there.
  Result<void> remove_written_out(Work& work);

  /// Puts scratch files into the store that nobody has written for `idle`.
  Result<void> write_out_idle(std::chrono::milliseconds idle);
  /// Gives all that was written on: its writers are gone.
  Result<void> write_out_all();

 private:
  /// Whether who asks may open it for writing.
  Result<void> check_opening(const Directory& directory, const Name& name, int flags);
  /// The caller holds the work's mutex.
  Result<std::shared_ptr<OpenFile>> one_more_writer(const WorkPointer& work, NodeId node,
                                                    int flags);
  Result<WorkPointer> make_work(const Directory& directory, const Name& name, int flags);
  Result<Permissions> permissions_of_work(const Work& work, const NodeState& state,
                                          const Name& name) const;
  Result<void> load(Work& work, const Directory& directory, const Name& name);
  /// Gives what was written on to where it belongs. The caller holds the work's mutex.
  Result<void> hand_on(Work& work, NodeMaking alone);
  Result<void> put_chunk(const Work& work, ByteView bytes);
  Result<void> sync_work(Work& work, NodeMaking alone);
  /// What hand_on asks for.
  Result<NodeMaking> making_node_of(Work& work);
  /// Puts a file into the store, complete or not at all, in place of one of its name.
  Result<void> write_file(
      const std::string& path, std::uint64_t size,
      const std::function<Result<Bytes>(std::uint64_t at, std::uint64_t most)>& read);

  ViewParts& parts_;
  Documents& documents_;
  Entries& entries_;
  CallerRights& rights_;
};

}  // namespace zarrfs
