// When a shard's drafts become the shard, what follows, and what a failure leaves. Where nothing
// else is said, the caller holds the shard's commit_mutex.
#pragma once

#include <map>
#include <vector>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/write/commit.h"
#include "core/write/draft_writer.h"
#include "core/write/left_files.h"
#include "core/write/successor_files.h"
#include "core/write/write_parts.h"

namespace zarrfs {

/// Why a chunk is quarantined.
inline constexpr const char* kNoChunkReason = "its bytes cannot be a chunk of the array";
/// Why a chunk is held.
inline constexpr const char* kHeldReason =
    "another writer has written it as well since, and conflicts=fail keeps that; this mount's "
    "bytes are kept here until the chunk is written again, or removed";

class Committer {
 public:
  Committer(WriteParts& parts, SuccessorFiles& files, DraftWriter& drafts)
      : parts_(parts), files_(files), drafts_(drafts), left_(parts) {}

  /// Descriptors are kept for commits that find none. Once the store is locked.
  void keep_spares();

  /// The shard to write to, which may be closed again by the time it is locked. Drafts that were
  /// written for an array which another program has replaced are dropped. The caller holds no
  /// commit_mutex.
  Result<DirtyPointer> shard_for(const ArrayPointer& array, const DirtyTable::Cell& cell);

  Result<void> commit(const DirtyPointer& shard) ZARRFS_REQUIRES(shard->commit_mutex);
  /// Why a chunk that is held is not published.
  static Error held(const DirtyShard& shard, std::uint64_t number);
  /// Makes what was written durable. The caller does not hold its commit_mutex.
  Result<void> sync(DirtyShard& shard);
  /// Forgets all drafts of a shard.
  Result<void> drop(const DirtyPointer& shard) ZARRFS_REQUIRES(shard->commit_mutex);
  /// A write failed: a shard that has no other drafts is clean again. Returns `error`.
  Result<void> abandon(const DirtyPointer& shard, Error error) ZARRFS_REQUIRES(shard->commit_mutex);
  /// Nothing of the shard's successor is needed any more.
  Result<void> retire(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  void forget(const DirtyPointer& shard) ZARRFS_REQUIRES(shard->commit_mutex);
  /// Where more of the successor, or of the log, is superseded than is needed, the rest goes on in
  /// a new successor, and the storage has the old one back.
  void limit_waste(const DirtyPointer& shard) ZARRFS_REQUIRES(shard->commit_mutex);
  /// As limit_waste, where it has any bytes that are superseded. The caller holds its
  /// commit_mutex.
  Result<void> drop_waste(const DirtyPointer& shard) ZARRFS_REQUIRES(shard->commit_mutex);
  /// Commits that free room or descriptors, after a write failed for want of them. An error where
  /// there is nothing to be had. The caller holds no commit_mutex.
  Result<void> make_way(const Error& error);
  /// Begins the log anew where nothing needs it.
  Result<void> clear_log();

 private:
  Result<CommitOutcome> commit_with(DirtyShard& shard, const CommitHooks& hooks)
      ZARRFS_REQUIRES(shard.commit_mutex);
  CommitHooks hooks_of(const DirtyPointer& shard);
  void tell_overwritten(const DirtyShard& shard, const std::vector<std::uint64_t>& numbers,
                        bool certain);
  Result<void> hold(DirtyShard& shard, const std::vector<std::uint64_t>& numbers)
      ZARRFS_REQUIRES(shard.commit_mutex);
  Result<void> renew(const DirtyPointer& shard, const std::map<std::uint64_t, Draft>& drafts)
      ZARRFS_REQUIRES(shard->commit_mutex);
  static std::string name_of(const DirtyShard& shard, std::uint64_t number);
  tl::unexpected<Error> report_failure(DirtyShard& shard, const Error& error)
      ZARRFS_REQUIRES(shard.commit_mutex);
  Result<void> finish(const DirtyPointer& shard, const CommitOutcome& outcome)
      ZARRFS_REQUIRES(shard->commit_mutex);
  Result<void> carry_on(const DirtyPointer& shard, const std::map<std::uint64_t, Draft>& drafts)
      ZARRFS_REQUIRES(shard->commit_mutex);
  Result<void> copy_drafts(const DirtyShard& from, const std::map<std::uint64_t, Draft>& drafts,
                           DirtyShard& to) ZARRFS_REQUIRES(to.commit_mutex);
  Result<void> commit_elsewhere(const DirtyPointer& shard) ZARRFS_REQUIRES(shard->commit_mutex);
  Result<void> tidy_log();

  WriteParts& parts_;
  SuccessorFiles& files_;
  DraftWriter& drafts_;
  LeftFiles left_;
  RankedMutex<LockRank::kSpareFiles> spare_mutex_;
  std::vector<Fd> spare_;
};

}  // namespace zarrfs
