// The beginning and the end of writing, and what programs and commands ask to be durable or in its
// shard. Thread-safe.
#pragma once

#include "core/names/inodes.h"
#include "core/vfs/removal.h"
#include "core/vfs/second_looks.h"
#include "core/vfs/staged_files.h"

namespace zarrfs {

class Publishing {
 public:
  Publishing(ViewParts& parts, Inodes& inodes, StagedFiles& staged, SecondLooks& second_looks,
             Removal& removal)
      : parts_(parts),
        inodes_(inodes),
        staged_(staged),
        second_looks_(second_looks),
        removal_(removal) {}

  /// kBusy where another program writes to the store.
  Result<void> begin();
  Result<void> sync(NodeId node);
  Result<void> publish();
  /// Publishes, and ends writing.
  Result<void> close();

 private:
  /// Has commits tell those who keep versions of shards.
  void tell_versions(WriteOptions& options);

  ViewParts& parts_;
  Inodes& inodes_;
  StagedFiles& staged_;
  SecondLooks& second_looks_;
  Removal& removal_;
};

}  // namespace zarrfs
