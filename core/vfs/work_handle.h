// An opened file that is being written. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "core/vfs/staged_files.h"

namespace zarrfs {

class WorkHandle : public OpenFile {
 public:
  /// `node`: by which it was opened; the root where it had none yet. `writer`: it counts among
  /// work->writers.
  WorkHandle(StagedFiles& files, Entries& entries, WorkPointer work, NodeId node, bool writer)
      : files_(files), entries_(entries), work_(std::move(work)), node_(node), writer_(writer) {}

  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return false; }
  [[nodiscard]] bool direct_io() const override { return true; }
  Result<void> write(std::uint64_t offset, ByteView bytes) override;
  Result<void> resize(std::uint64_t size) override;
  Result<void> flush() override { return writer_ ? files_.flush(*work_) : Result<void>(); }
  Result<void> sync() override { return writer_ ? files_.sync(*work_) : Result<void>(); }
  void closed() override;
  Result<std::optional<Found>> attributes() override { return entries_.of_work(work_, node_); }
  [[nodiscard]] bool must_wait() const override { return writer_ && files_.must_wait(*work_); }

 private:
  Result<void> check(std::uint64_t size) const;

  StagedFiles& files_;
  Entries& entries_;
  const WorkPointer work_;
  const NodeId node_;
  const bool writer_;
};

}  // namespace zarrfs
