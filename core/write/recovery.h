// Taking over what an earlier writer left. JOURNAL.md has the argument.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "core/write/committer.h"

namespace zarrfs {

class Recovery {
 public:
  Recovery(WriteParts& parts, SuccessorFiles& files, DraftWriter& drafts, Committer& committer)
      : parts_(parts), files_(files), drafts_(drafts), committer_(committer) {}

  /// Opens the log, and takes up what it says: false where there is none. Before anything is
  /// written.
  Result<bool> take_over();
  /// As Committer::shard_for. What was parked of the shard comes first: the array can be read
  /// again.
  Result<DirtyPointer> shard_for(const ArrayPointer& array, const DirtyTable::Cell& cell);
  /// Nothing of it is needed any more. What cannot be removed is told, and stays.
  void dispose(const LoggedSuccessor& logged);

 private:
  struct Run;
  void recover(const LoggedSuccessor& logged, Run& run);
  Result<void> take_up(const ArrayPointer& array, const LoggedSuccessor& logged, Run& run);
  Result<void> resume(const DirtyPointer& shard, const LoggedSuccessor& logged,
                      std::shared_ptr<NewFile> successor, Run& run)
      ZARRFS_REQUIRES(shard->commit_mutex);
  Result<void> put_again(const DirtyPointer& shard, const LoggedSuccessor& logged,
                         const std::shared_ptr<NewFile>& successor, Run& run)
      ZARRFS_REQUIRES(shard->commit_mutex);
  Result<void> take_up_parked(const ArrayPointer& array, const DirtyTable::Cell& cell);
  void park(const LoggedSuccessor& logged, const std::string& reason);
  void remove_strays(const std::set<std::string>& directories);

  WriteParts& parts_;
  SuccessorFiles& files_;
  DraftWriter& drafts_;
  Committer& committer_;
};

}  // namespace zarrfs
