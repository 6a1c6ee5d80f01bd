#include "core/store/zip/entry_files.h"

#include <zlib.h>

#include <algorithm>
#include <iomanip>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/lock_order.h"
#include "core/base/request.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{4} << 20U;

std::string spell_checksum(std::uint32_t checksum) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(8) << checksum;
  return text.str();
}

/// The checksum of a file of `size` bytes, taken while they are read, in whatever order: the kernel
/// asks for the parts of a large file at once.
class ReadChecksum {
 public:
  explicit ReadChecksum(std::uint64_t size) : size_(size) {}

  /// Takes the bytes read at `offset`. The checksum once all bytes were read; nothing before.
  std::optional<std::uint32_t> take(std::uint64_t offset, ByteView bytes) {
    if (bytes.empty() && size_ > 0) return std::nullopt;
    const std::uint64_t end = offset + bytes.size();
    {
      const HeldLock lock(mutex_);
      if (is_whole()) return pieces_.begin()->second.checksum;
      if (given_up_ && bytes.size() < size_) return std::nullopt;
    }
    const auto checksum = static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
    const HeldLock lock(mutex_);
    add(offset, {end, checksum});
    if (is_whole()) return pieces_.begin()->second.checksum;
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kMostPieces = 16;  // more are single ranges, read here and there

  struct Piece {
    std::uint64_t end = 0;
    std::uint32_t checksum = 0;
  };

  [[nodiscard]] bool is_whole() const ZARRFS_REQUIRES(mutex_) {
    return pieces_.size() == 1 && pieces_.begin()->first == 0 &&
           pieces_.begin()->second.end == size_;
  }

  /// Leaves out what overlaps a piece that it does not hold.
  void add(std::uint64_t offset, Piece piece) ZARRFS_REQUIRES(mutex_) {
    auto right = pieces_.lower_bound(offset);
    while (right != pieces_.end() && right->second.end <= piece.end) right = pieces_.erase(right);
    if (right != pieces_.end() && right->first < piece.end) return;
    const auto left = right == pieces_.begin() ? pieces_.end() : std::prev(right);
    if (left != pieces_.end() && left->second.end > offset) return;
    if (right != pieces_.end() && right->first == piece.end) {
      append(piece, piece.end, right->second);
      pieces_.erase(right);
    }
    if (left != pieces_.end() && left->second.end == offset) {
      append(left->second, offset, piece);
    } else {
      pieces_.emplace(offset, piece);
    }
    if (pieces_.size() <= kMostPieces) return;
    pieces_.clear();
    given_up_ = true;
  }

  static void append(Piece& piece, std::uint64_t next_offset, const Piece& next) {
    piece.checksum = static_cast<std::uint32_t>(::crc32_combine(
        piece.checksum, next.checksum, static_cast<z_off_t>(next.end - next_offset)));
    piece.end = next.end;
  }

  const std::uint64_t size_;
  TableMutex mutex_;
  std::map<std::uint64_t, Piece> pieces_ ZARRFS_GUARDED_BY(mutex_);  ///< By where they begin.
  bool given_up_ ZARRFS_GUARDED_BY(mutex_) = false;
};

class StoredEntry final : public File {
 public:
  StoredEntry(std::shared_ptr<const File> archive, std::string name, ByteRange range,
              const struct stat& status, std::uint32_t checksum)
      : archive_(std::move(archive)),
        name_(std::move(name)),
        range_(range),
        status_(status),
        checksum_(checksum),
        read_(range.length) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override {
    ZARRFS_TRY(const struct stat now, archive_->current_status());
    struct stat status = status_;
    if (identity_of(now) != archive_->identity()) ++status.st_mtim.tv_sec;  // not what it was
    return status;
  }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    ZARRFS_TRY(const std::size_t got, read_unchecked(offset, out));
    const auto checksum = read_.take(offset, out.first(got));
    if (checksum) ZARRFS_CHECK(compare(*checksum));
    return got;
  }
  void fetch(ByteRange range) const override {
    if (!lies_within(range, range_.length)) return;
    archive_->fetch({range_.offset + range.offset, range.length});
  }

  Result<void> check_whole() const override {
    Bytes block(static_cast<std::size_t>(std::min(kBlock, range_.length)));
    std::uint32_t checksum = 0;
    for (std::uint64_t done = 0; done < range_.length;) {
      ZARRFS_CHECK(check_wanted());
      ZARRFS_TRY(const std::size_t got, read_unchecked(done, block));
      if (got == 0) break;  // the archive has become shorter
      checksum = static_cast<std::uint32_t>(::crc32_z(checksum, block.data(), got));
      done += got;
    }
    return compare(checksum);
  }

 private:
  [[nodiscard]] Result<std::size_t> read_unchecked(std::uint64_t offset,
                                                   MutableByteView out) const {
    const std::uint64_t begin = std::min(offset, range_.length);
    const std::uint64_t length = std::min<std::uint64_t>(out.size(), range_.length - begin);
    return archive_->read_at(range_.offset + begin, out.first(static_cast<std::size_t>(length)));
  }

  [[nodiscard]] Result<void> compare(std::uint32_t checksum) const {
    if (checksum == checksum_) return {};
    ZARRFS_TRY(const struct stat now, archive_->current_status());
    if (identity_of(now) != archive_->identity()) {
      return fail(Fault::kStale, name_ + ": its archive was changed in place; open it again");
    }
    return fail(Fault::kDamaged,
                name_ + ": these are not the bytes that were packed: their checksum (CRC-32) is " +
                    spell_checksum(checksum) + ", but " + spell_checksum(checksum_) + " is stored");
  }

  const std::shared_ptr<const File> archive_;
  const std::string name_;
  const ByteRange range_;
  const struct stat status_;
  const std::uint32_t checksum_;
  mutable ReadChecksum read_;
};

class InflatedEntry final : public File {
 public:
  InflatedEntry(std::string name, Bytes bytes, const struct stat& status)
      : name_(std::move(name)), bytes_(std::move(bytes)), status_(status) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    const std::uint64_t begin = std::min<std::uint64_t>(offset, bytes_.size());
    const std::uint64_t length = std::min<std::uint64_t>(out.size(), bytes_.size() - begin);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin), length, out.begin());
    return static_cast<std::size_t>(length);
  }

 private:
  const std::string name_;
  const Bytes bytes_;
  const struct stat status_;
};

}  // namespace

std::shared_ptr<File> stored_entry(std::shared_ptr<const File> archive, std::string name,
                                   ByteRange range, const struct stat& status,
                                   std::uint32_t checksum) {
  return std::make_shared<StoredEntry>(std::move(archive), std::move(name), range, status,
                                       checksum);
}

std::shared_ptr<File> inflated_entry(std::string name, Bytes bytes, const struct stat& status) {
  return std::make_shared<InflatedEntry>(std::move(name), std::move(bytes), status);
}

}  // namespace zarrfs
