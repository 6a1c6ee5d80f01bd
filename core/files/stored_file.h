// A file of the store that is not Zarr's, opened for writing. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/files/open_files.h"

namespace zarrfs {

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
  Result<std::optional<InodeEntry>> attributes() override;

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
