// Files that are not files of the storage: a part of one, and bytes that are made when they are
// asked for. Both look like files to whoever reads a store. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/lock_order.h"
#include "core/store/store.h"

namespace zarrfs {

/// A range of a larger file, as a file of its own.
class PartFile final : public File {
 public:
  /// `range` lies within `whole`, which stands at `path` of the store.
  PartFile(std::shared_ptr<const File> whole, std::string path, ByteRange range);
  /// Of a store that knows the part under a name of its own, and as `status` for as long as the
  /// whole is the same file.
  PartFile(FilePlace place, std::string name, const struct stat& status);
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override;
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;
  void fetch(ByteRange range) const override;
  [[nodiscard]] bool may_be_outdated() const override { return whole_->may_be_outdated(); }
  [[nodiscard]] std::optional<FilePlace> place() const override {
    return FilePlace{whole_, path_, range_};
  }

 private:
  std::shared_ptr<const File> whole_;
  std::string path_;
  ByteRange range_;
  std::string name_;
  struct stat status_;
};

/// Bytes whose number is known, and which are made when they are read first of what lies at a place
/// of a stored file.
class MadeFile final : public File {
 public:
  using Make = std::function<Result<Bytes>()>;
  /// `make` gives `size` bytes, made of what lies at `origin`; it is called again where it failed.
  /// Times and owner are those of the stored file, and the identity is one of that place.
  MadeFile(FilePlace origin, std::uint64_t size, Make make);
  [[nodiscard]] std::string name() const override { return origin_.whole->name(); }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override;
  [[nodiscard]] bool may_be_outdated() const override { return origin_.whole->may_be_outdated(); }
  [[nodiscard]] std::optional<FilePlace> place() const override { return origin_; }
  /// kDamaged where other than `size` bytes were made.
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;

 private:
  Result<std::shared_ptr<const Bytes>> bytes() const;

  [[nodiscard]] struct stat shown(struct stat origin, std::uint64_t size) const;

  const FilePlace origin_;
  Make make_;
  struct stat status_;
  mutable RankedMutex<LockRank::kStore> mutex_;
  mutable std::shared_ptr<const Bytes> made_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
