// An opened file that is being written. Thread-safe.
#pragma once

#include <fcntl.h>

#include <memory>
#include <utility>

#include "core/vfs/staged_files.h"

namespace zarrfs {

class StagedHandle : public OpenFile {
 public:
  /// `node`: by which it was opened; the root where it had none yet. `writer`: it counts among
  /// file->writers, and with O_TRUNC or O_CREAT among file->unfinished; `file` is locked then.
  /// `flags`: of open(2).
  StagedHandle(StagedFiles& files, Entries& entries, StagedPointer file, NodeId node, bool writer,
               int flags = 0)
      : files_(files),
        entries_(entries),
        file_(std::move(file)),
        node_(node),
        writer_(writer),
        appends_((flags & O_APPEND) != 0) {
    if (writer_ && (flags & (O_TRUNC | O_CREAT)) != 0) begin();
  }

  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return false; }
  [[nodiscard]] bool direct_io() const override { return true; }
  Result<void> write(std::uint64_t offset, ByteView bytes) override;
  Result<void> resize(std::uint64_t size) override;
  Result<void> flush() override;
  Result<void> sync() override {
    return writer_ ? files_.sync(*file_) : files_.sync_temporary(*file_);
  }
  void closed() override;
  Result<std::optional<InodeEntry>> attributes() override {
    return entries_.of_staged(file_, node_);
  }
  [[nodiscard]] bool must_wait() const override { return writer_ && files_.must_wait(*file_); }

 private:
  Result<void> check(std::uint64_t size) const;
  /// It counts among file->unfinished from here on. Under the file's mutex.
  void begin();
  /// It does so no more. Takes the file's mutex.
  void finish();

  StagedFiles& files_;
  Entries& entries_;
  const StagedPointer file_;
  const NodeId node_;
  const bool writer_;
  /// To the end of what it holds: the kernel may believe that a document has the stored size.
  const bool appends_;
  bool unfinished_ = false;  ///< Under the file's mutex.
};

}  // namespace zarrfs
