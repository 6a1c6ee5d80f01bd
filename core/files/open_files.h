// The kinds of opened files: bytes in memory, a slice of a shard, and a whole pass-through
// file. Thread-safe: nothing changes after construction.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/lock_order.h"
#include "core/chunks/chunk_finder.h"
#include "core/store/store.h"
#include "core/view/view.h"

namespace zarrfs {

/// `wanted` clamped to a file of `size` bytes.
ByteRange clamp_read(std::uint64_t offset, std::uint64_t length, std::uint64_t size);

/// Makes the `change`, but for the size, to the opened file that messages call `name`.
Result<void> change_opened(int descriptor, const std::string& name, const AttributeChange& change);

using ShowStatus = std::function<InodeEntry(const struct stat&)>;

/// A document, a decoded chunk, or a fill chunk.
class BytesFile : public OpenFile {
 public:
  /// `direct`: the size may differ from what an earlier stat told.
  explicit BytesFile(std::shared_ptr<const Bytes> bytes, bool direct = false)
      : bytes_(std::move(bytes)), direct_(direct) {}
  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] bool keep_cache() const override { return !direct_; }
  [[nodiscard]] bool direct_io() const override { return direct_; }

 private:
  const std::shared_ptr<const Bytes> bytes_;
  const bool direct_;
};

/// How a chunk's bytes are read.
struct ReadingWays {
  bool immutable = false;   ///< The shard is not looked at again.
  std::uint64_t ahead = 0;  ///< Bytes that are fetched in advance at most.
  bool past_cache = false;  ///< Where the chunk is large: see ViewOptions::direct_io.
};

/// `range` of a shard. kStale once the shard has been changed in place.
class SliceFile : public OpenFile {
 public:
  /// `name` is what messages call it.
  SliceFile(std::shared_ptr<const File> file, ByteRange range, std::string name, ReadingWays ways)
      : file_(std::move(file)), range_(range), name_(std::move(name)), ways_(ways) {}
  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Result<void> confirm() const override;
  [[nodiscard]] bool keep_cache() const override { return true; }
  [[nodiscard]] bool past_cache() const override;

 private:
  [[nodiscard]] ByteRange next_to_fetch(ByteRange part);

  const std::shared_ptr<const File> file_;
  const ByteRange range_;
  const std::string name_;
  const ReadingWays ways_;
  TableMutex mutex_;
  std::uint64_t run_ = 0;       // bytes that were read one after the other
  std::uint64_t asked_to_ = 0;  // behind them
};

/// Opens a chunk's content. `name` is what messages call it.
std::shared_ptr<OpenFile> open_content(const ChunkContent& content, std::string name,
                                       ReadingWays ways);

/// A chunk that cannot be read: every read of it is the error.
class BrokenFile : public OpenFile {
 public:
  explicit BrokenFile(Error error) : error_(std::move(error)) {}
  Result<ReadPlan> read(std::uint64_t, std::uint64_t) override { return fail(error_); }
  [[nodiscard]] const Error* damage() const override { return &error_; }
  [[nodiscard]] bool keep_cache() const override { return false; }
  [[nodiscard]] bool direct_io() const override { return true; }

 private:
  const Error error_;
};

/// A file of the store that is not Zarr's, as it is at each read.
class PassThroughFile : public OpenFile {
 public:
  /// `show` gives the attributes of a file with this status.
  PassThroughFile(std::shared_ptr<const File> file, bool immutable, ShowStatus show)
      : file_(std::move(file)), immutable_(immutable), show_(std::move(show)) {}
  /// Of the opened file, which may have lost its name.
  Result<std::optional<InodeEntry>> attributes() override;
  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override;
  Result<bool> change(const AttributeChange& change) override;
  [[nodiscard]] bool keep_cache() const override { return immutable_; }

 private:
  const std::shared_ptr<const File> file_;
  const bool immutable_;
  const ShowStatus show_;
};

}  // namespace zarrfs
