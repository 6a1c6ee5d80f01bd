// One draft at a time: from a chunk's bytes to the shard's successor and the log, and what that may
// cost the storage. The caller holds the shard's commit_mutex.
#pragma once

#include <functional>
#include <optional>

#include "core/write/successor_files.h"
#include "core/write/write_parts.h"

namespace zarrfs {

class DraftWriter {
 public:
  /// Called when readers see a draft from then on: none has seen it before, and none sees what was
  /// there before afterwards. Takes table mutexes at most.
  using Shown = std::function<void()>;

  DraftWriter(WriteParts& parts, SuccessorFiles& files) : parts_(parts), files_(files) {}

  /// Fails where the shard's present file cannot be read, so that a draft of chunk `number` could
  /// never be published: unless, in the end, no chunk of it is left.
  Result<void> check_base(DirtyShard& shard, std::uint64_t number, bool removal)
      ZARRFS_REQUIRES(shard.commit_mutex);
  /// Before a commit: what could not be checked while the server was away.
  Result<void> check_unknown_base(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  /// `bytes`: null where the chunk is removed. `quarantined`: see WriteBuffer::put. `held`: see
  /// Draft. `before`: the draft that this is a copy of.
  Result<void> write(
      DirtyShard& shard, std::uint64_t number, const ByteView* bytes, bool quarantined,
      bool held = false, const Draft* before = nullptr, const Shown& shown = [] {})
      ZARRFS_REQUIRES(shard.commit_mutex);
  /// Before what is to be published is written to a shard that only has drafts which are not: at a
  /// server, the version that is shown now is the one that it goes on from.
  void renew_base(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  /// The draft of chunk `number` is held from now on, and the log says so. The caller holds
  /// shard.commit_mutex, and may hold room_mutex.
  Result<void> hold(DirtyShard& shard, std::uint64_t number) ZARRFS_REQUIRES(shard.commit_mutex);
  /// Removes the chunk where there is no room to log that: it is there again where this process
  /// dies before the commit.
  static void remove_unlogged(DirtyShard& shard, std::uint64_t number, const Shown& shown)
      ZARRFS_REQUIRES(shard.commit_mutex);
  /// Logs what remove_unlogged could not.
  Result<void> log_removals(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);

 private:
  [[nodiscard]] bool is_out_of_reach(const Error& error) const;
  Result<void> note_base(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  Result<void> begin(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  Result<void> begin_appending(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  Result<void> hold_room(const DirtyShard& shard, std::uint64_t bytes)
      ZARRFS_REQUIRES(shard.commit_mutex) ZARRFS_REQUIRES_SHARED(parts_.room_mutex);

  WriteParts& parts_;
  SuccessorFiles& files_;
};

}  // namespace zarrfs
