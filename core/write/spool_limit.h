// How much may be written and not committed (WriteOptions::most_unpublished). Thread-safe.
#pragma once

#include <atomic>

#include "core/write/committer.h"
#include "core/write/successor_files.h"
#include "core/write/write_parts.h"

namespace zarrfs {

class SpoolLimit {
 public:
  SpoolLimit(WriteParts& parts, SuccessorFiles& files, Committer& committer)
      : parts_(parts), files_(files), committer_(committer) {}

  /// Another `bytes` are going to be written: commits shards, the oldest first, where they would be
  /// too many. kNoSpace where that does not make room. The caller holds no commit_mutex.
  Result<void> admit(std::uint64_t bytes);

 private:
  [[nodiscard]] std::uint64_t used() const;
  Result<void> make_room(std::uint64_t bytes);

  WriteParts& parts_;
  SuccessorFiles& files_;
  Committer& committer_;
  std::atomic<std::uint64_t> at_most_{0};  ///< Not less than used(), which takes longer.
};

}  // namespace zarrfs
