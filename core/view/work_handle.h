// An opened file that is being written. Thread-safe.
#pragma once

#include <memory>

#include "core/view/open_files.h"
#include "core/view/store_view.h"

namespace zarrfs {

/// The error of a change that a program may not make, or not now.
inline tl::unexpected<Error> refused(Fault fault, const std::string& path, const std::string& why) {
  return fail(fault, "/" + path + ": " + why);
}

class WorkHandle : public OpenFile {
 public:
  /// `writer`: it counts among work->writers.
  WorkHandle(StoreView& view, WorkPointer work, bool writer)
      : view_(view), work_(std::move(work)), writer_(writer) {}

  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return false; }
  [[nodiscard]] bool direct_io() const override { return true; }
  Result<void> write(std::uint64_t offset, ByteView bytes) override;
  Result<void> resize(std::uint64_t size) override;
  Result<void> flush() override;
  Result<void> sync() override;
  void closed() override;
  Result<std::optional<Found>> attributes() override;

 private:
  Result<void> check(std::uint64_t size) const;

  StoreView& view_;
  const WorkPointer work_;
  const bool writer_;
};

/// Opens for reading what others are writing.
std::shared_ptr<OpenFile> read_work(StoreView& view, WorkPointer work);

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

 private:
  [[nodiscard]] Result<struct stat> status() const;

  const Fd descriptor_;
  const std::string name_;
  const ShowStatus show_;
  const std::function<void()> done_;
};

}  // namespace zarrfs
