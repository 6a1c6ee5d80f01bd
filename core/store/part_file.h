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
  [[nodiscard]] std::string name() const override { return whole_->name(); }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override;
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;
  void fetch(ByteRange range) const override;

  [[nodiscard]] const std::shared_ptr<const File>& whole() const { return whole_; }
  /// The whole file's path in the store.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] ByteRange range() const { return range_; }

 private:
  std::shared_ptr<const File> whole_;
  std::string path_;
  ByteRange range_;
  struct stat status_;
};

/// Bytes whose number is known, and which are made from `origin` when they are read first.
class MadeFile final : public File {
 public:
  using Make = std::function<Result<Bytes>()>;
  /// What the bytes are made of.
  struct Origin {
    std::shared_ptr<const File> file;
    std::string path;  ///< In the store.
    std::uint64_t offset = 0;
    /// The bytes there; may read the file.
    std::function<Result<std::uint64_t>()> length;
  };
  /// `make` gives `size` bytes; it is called again where it failed. Times and owner are those of
  /// the origin's file, and the identity is one of that place.
  MadeFile(Origin origin, std::uint64_t size, Make make);
  [[nodiscard]] std::string name() const override { return origin_.file->name(); }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override;
  [[nodiscard]] const Origin& origin() const { return origin_; }
  /// kDamaged where other than `size` bytes were made.
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override;

 private:
  Result<std::shared_ptr<const Bytes>> bytes() const;

  [[nodiscard]] struct stat shown(struct stat origin, std::uint64_t size) const;

  Origin origin_;
  Make make_;
  struct stat status_;
  mutable RankedMutex<LockRank::kStore> mutex_;
  mutable std::shared_ptr<const Bytes> made_;
};

}  // namespace zarrfs
