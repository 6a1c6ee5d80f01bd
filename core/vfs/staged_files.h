// Files that programs write, from open to where their bytes go: a chunk to its shard, a document to
// the node's, any other into the store as it is. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/names/caller_rights.h"
#include "core/names/documents.h"
#include "core/names/entries.h"
#include "core/names/name.h"
#include "core/names/view_parts.h"
#include "core/view/view.h"

namespace zarrfs {

class StagedFiles {
 public:
  StagedFiles(ViewParts& parts, Documents& documents, Entries& entries, CallerRights& rights)
      : parts_(parts), documents_(documents), entries_(entries), rights_(rights) {}

  /// Opens what a program writes under the name, with the `flags` of open(2). `node`: by which it
  /// is opened; the root where it has none yet. `made` becomes the file that is written, by which
  /// node ever; null: kStale where a chunk or document is being written by another node.
  Result<std::shared_ptr<OpenFile>> open(const Directory& directory, const Name& name, NodeId node,
                                         int flags, StagedPointer* made);
  /// The file that the node was given out for and no other, whatever its name is by now; kStale
  /// once nobody is writing it.
  Result<std::shared_ptr<OpenFile>> reopen(const NamedNode& named, NodeId node, int flags);
  /// Opens for reading, by its node, what others are writing.
  std::shared_ptr<OpenFile> open_to_read(StagedPointer file, NodeId node);

  // Of an opened file:
  Result<void> flush(StagedFile& file);
  Result<void> sync(StagedFile& file);
  /// Whether the document that `bytes` complete would be taken: programs that ignore what close(2)
  /// says are told by write(2). What is refused is not written. The caller holds the file's mutex.
  Result<void> check_document(StagedFile& file, std::uint64_t offset, ByteView bytes);
  void closed(const StagedPointer& file);
  [[nodiscard]] bool must_wait(const StagedFile& file) const;

  // For callers that put something else in its place. The caller holds the file's mutex.
  /// What `name` is called in the table.
  static std::string key_of(const Directory& directory, const Name& name);
  using Lock = std::unique_lock<StagedMutex>;
  /// What is being written under a name that another file takes, if anything, locked. While this
  /// lives, who opens the name waits for the one that comes.
  struct Displaced {
    StagedPointer file;
    Lock lock;
    StagedTable::Reservation reservation;
  };
  /// `lock`: of `coming`; locked when it returns.
  Displaced displace(const std::string& key, const StagedPointer& coming, Lock& lock);
  /// What is being written under a name that was taken from it is nobody's any more.
  void unlink(const StagedPointer& file);
  /// The same of what is written under `key`, if anything; takes its mutex.
  void detach(const std::string& key);
  /// The mask for what becomes of the file. Its owner's bits stay: the daemon has to read it again.
  static std::optional<mode_t> mask_of(const StagedFile& file);
  /// Puts a temporary file into the store.
  Result<void> persist(StagedFile& file);
  /// Removes what an earlier persist has put there.
  Result<void> withdraw(StagedFile& file);

  /// Puts temporary files into the store that nobody has written for `idle`.
  Result<void> persist_idle(std::chrono::milliseconds idle);
  /// Puts the file into the store if it is a temporary one, but for the unfinished file of an
  /// atomic write.
  Result<void> sync_temporary(StagedFile& file);
  /// The same with all at or below `directory`, as programs see it.
  Result<void> sync_temporaries(const std::string& directory);
  /// kExists where the temporary file at `path`, of the node at `directory`, would be put into the
  /// store by the name of another file: see stored_path(). `file`: itself, if there is one.
  Result<void> check_kept_name(const std::string& directory, const std::string& path,
                               const StagedFile* file) const;
  /// Gives all that was written on: its writers are gone.
  Result<void> submit_all();

 private:
  /// Whether the user who asks may open it for writing.
  Result<void> check_opening(const Directory& directory, const Name& name, int flags);
  /// The caller holds its mutex.
  Result<std::shared_ptr<OpenFile>> one_more_writer(const StagedPointer& file, NodeId node,
                                                    int flags);
  Result<StagedPointer> make(const Directory& directory, const Name& name);
  Result<void> fill(const StagedPointer& file, const Directory& directory, const Name& name,
                    int flags);
  Result<Permissions> permissions_of(const StagedFile& file, const NodeState& state,
                                     const Name& name) const;
  Result<void> load(StagedFile& file, const Directory& directory, const Name& name, int flags);
  /// Gives what was written on to where it belongs. The caller holds its mutex.
  Result<void> submit(StagedFile& file, ExclusiveCreation alone);
  [[nodiscard]] Result<StatePtr> array_of(const StagedFile& file) const;
  Result<void> put_chunk(const StagedFile& file, ByteView bytes);
  Result<void> publish_chunk(const StagedFile& file);
  static Result<bool> is_left_to_others(const StagedFile& file);
  Result<void> sync_staged(StagedFile& file, ExclusiveCreation alone);
  /// What submit asks for.
  Result<ExclusiveCreation> exclusive_creation_for(StagedFile& file);
  /// Puts a file into the store, complete or not at all, in place of one of its name.
  Result<void> write_file(
      const std::string& path, std::uint64_t size,
      const std::function<Result<Bytes>(std::uint64_t at, std::uint64_t most)>& read);

  ViewParts& parts_;
  Documents& documents_;
  Entries& entries_;
  CallerRights& rights_;
};

/// What is written under the name.
StagedFile::Kind staged_kind_of(const Name& name);

}  // namespace zarrfs
