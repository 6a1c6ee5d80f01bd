// An opened file that is being written. Thread-safe.
#pragma once

#include <memory>

#include "core/vfs/open_files.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

/// The error of a change that a program may not make, or not now.
inline tl::unexpected<Error> refused(Fault fault, const std::string& path, const std::string& why) {
  return fail(fault, "/" + path + ": " + why);
}

class WorkHandle : public OpenFile {
 public:
  /// `node`: by which it was opened; the root where it had none yet. `writer`: it counts among
  /// work->writers.
  WorkHandle(StoreView& view, WorkPointer work, NodeId node, bool writer)
      : view_(view), work_(std::move(work)), node_(node), writer_(writer) {}

  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return false; }
  [[nodiscard]] bool direct_io() const override { return true; }
  Result<void> write(std::uint64_t offset, ByteView bytes) override;
  Result<void> resize(std::uint64_t size) override;
  Result<void> flush() override;
  Result<void> sync() override;
  void closed() override;
  Result<std::optional<Found>> attributes() override;
  [[nodiscard]] bool must_wait() const override;

 private:
  Result<void> check(std::uint64_t size) const;

  StoreView& view_;
  const WorkPointer work_;
  const NodeId node_;
  const bool writer_;
};

/// Opens for reading, by its node, what others are writing.
std::shared_ptr<OpenFile> read_work(StoreView& view, WorkPointer work, NodeId node);

/// A file of the store that is not Zarr's, opened for writing. Thread-safe.
class StoredFile : public OpenFile {
 public:
  /// `show` gives the attributes of a file with this status; `done` is called when it is closed.
  StoredFile(Fd descriptor, std::string name, ShowStatus show, std::function<void()> done)
      : descriptor_(std::move(descriptor)),
        name_(std::move(name)),
        show_(std::move(show)),
        done_(std::move(done)) {}
  void closed() override { done_(); }
  /// Of the opened file, which may have lost its name.
  Result<std::optional<Found>> attributes() override;

  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return false; }
  [[nodiscard]] bool direct_io() const override { return true; }
  Result<void> write(std::uint64_t offset, ByteView bytes) override;
  Result<void> resize(std::uint64_t size) override;
  Result<void> sync() override;
  Result<bool> change(const AttributeChange& change) override;

 private:
  [[nodiscard]] Result<struct stat> status() const;

  const Fd descriptor_;
  const std::string name_;
  const ShowStatus show_;
  const std::function<void()> done_;
};

}  // namespace zarrfs
