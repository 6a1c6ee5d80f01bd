// The bytes of a file that is being written: in memory, or where they are many, or all files
// together are beyond the budget, in a file without a name.
#pragma once

#include <atomic>
#include <memory>

#include "core/store/store.h"

namespace zarrfs {

/// Bytes of memory that all files that are being written may use together.
struct StagedBudget {
  std::uint64_t limit = 0;
  std::atomic<std::uint64_t> used{0};
};

/// Bytes that can be written in any order; holes are zeros. One thread at a time.
class StagedBytes {
 public:
  StagedBytes(std::shared_ptr<Store> store, std::shared_ptr<StagedBudget> budget)
      : store_(std::move(store)), budget_(std::move(budget)) {}
  ~StagedBytes();
  StagedBytes(const StagedBytes&) = delete;
  StagedBytes& operator=(const StagedBytes&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  Result<void> write(std::uint64_t offset, ByteView bytes);
  Result<void> resize(std::uint64_t size);
  /// Up to `length` bytes at `offset`: fewer only at the end.
  [[nodiscard]] Result<Bytes> read(std::uint64_t offset, std::uint64_t length) const;
  /// All bytes: as they stand in memory, until they are changed, or read into `memory`.
  [[nodiscard]] Result<ByteView> whole(Bytes& memory) const;

 private:
  Result<void> spill();
  Result<void> make_room(std::uint64_t size);
  Result<void> append(ByteView bytes);
  void account();

  std::shared_ptr<Store> store_;
  std::shared_ptr<StagedBudget> budget_;
  std::uint64_t size_ = 0;
  std::uint64_t accounted_ = 0;
  Bytes memory_;
  std::unique_ptr<NewFile> file_;  ///< Where the bytes are instead of in memory.
};

}  // namespace zarrfs
