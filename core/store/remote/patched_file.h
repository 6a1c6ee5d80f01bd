// The next version of an object that has most of its bytes from the present one: a file of the
// spool with holes where nothing was written. What is in the holes stays at the server, which
// copies it, until it has to be sent after all.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/lock_order.h"
#include "core/store/remote/part_plan.h"
#include "core/store/remote/remote_file.h"

namespace zarrfs {

/// What such a file and the store that puts it share. One thread at a time.
class Patch {
 public:
  /// `file`: new and empty; gets the size of `base`, the version of `key`.
  static Result<std::shared_ptr<Patch>> make(std::shared_ptr<RemoteObjects> objects,
                                             const std::string& key, const ObjectInfo& base,
                                             std::unique_ptr<NewFile> file);

  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const ObjectInfo& base() const { return base_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] NewFile& file() const { return *file_; }
  /// What was written, in order.
  [[nodiscard]] std::vector<ByteRange> written() const;
  void note_written(ByteRange range);
  Result<void> truncate(std::uint64_t size);
  /// Brings the bytes of `range` that were not written from the server into the file.
  Result<void> fill(ByteRange range);

 private:
  Patch(std::shared_ptr<RemoteObjects> objects, std::string key, ObjectInfo base,
        std::unique_ptr<NewFile> file)
      : objects_(std::move(objects)),
        key_(std::move(key)),
        base_(std::move(base)),
        size_(base_.size),
        file_(std::move(file)) {}
  Result<void> bring(ByteRange range);

  const std::shared_ptr<RemoteObjects> objects_;
  const std::string key_;
  const ObjectInfo base_;
  std::uint64_t size_;
  const std::unique_ptr<NewFile> file_;
  std::map<std::uint64_t, std::uint64_t> written_;  ///< Begin -> end, apart from each other.
};

class PatchedFile final : public NewFile {
 public:
  explicit PatchedFile(std::shared_ptr<Patch> patch) : patch_(std::move(patch)) {}

  Result<void> write_at(std::uint64_t offset, ByteView bytes) override;
  Result<void> copy_range(const File& from, ByteRange range, std::uint64_t offset) override;
  Result<void> truncate(std::uint64_t size) override { return patch_->truncate(size); }
  Result<void> sync() override { return patch_->file().sync(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;
  [[nodiscard]] Result<struct stat> status() const override { return patch_->file().status(); }
  [[nodiscard]] int descriptor() const override { return patch_->file().descriptor(); }

 private:
  const std::shared_ptr<Patch> patch_;
};

/// The patches that are being made, by the path of their file. Thread-safe.
class Patches {
 public:
  void add(const std::string& path, const std::shared_ptr<Patch>& patch);
  /// Null where there is none.
  [[nodiscard]] std::shared_ptr<Patch> find(const std::string& path);

 private:
  TableMutex mutex_;
  std::map<std::string, std::weak_ptr<Patch>> patches_;
};

}  // namespace zarrfs
