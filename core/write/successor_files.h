// How many successors are open at a time. Each dirty shard has one descriptor, for appending and
// reading; where they become too many, some are synced and closed, and opened again by name.
// Thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "core/write/write_parts.h"

namespace zarrfs {

class SuccessorFiles {
 public:
  explicit SuccessorFiles(WriteParts& parts);

  // The caller holds the shard's commit_mutex.

  /// `file` is the shard's successor.
  Result<void> attach(DirtyShard& shard, std::shared_ptr<NewFile> file)
      ZARRFS_REQUIRES(shard.commit_mutex);
  /// Opens it again where it was closed for a while.
  Result<void> open(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);
  /// It is not needed any more.
  void close(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);

  /// Closes some where the most that may be open are. The caller holds no commit_mutex.
  void limit() { close_some(nullptr, most_); }
  /// Closes all that are not in use, but that of `but`. The caller holds no commit_mutex but its.
  void close_all(const DirtyShard* but) { close_some(but, 0); }

 private:
  void close_some(const DirtyShard* but, std::size_t enough);
  void close_unused(DirtyShard& shard) ZARRFS_REQUIRES(shard.commit_mutex);

  WriteParts& parts_;
  const std::size_t most_;
  std::atomic<std::size_t> open_{0};
};

}  // namespace zarrfs
