// The bytes of a file that is being written: in memory, or where they are many, or all files
// together are beyond the budget, in a file without a name.
#pragma once

#include <atomic>
#include <memory>

#include "core/base/lock_order.h"
#include "core/store/store.h"

namespace zarrfs {

/// Bytes of memory that all files that are being written may use together.
struct StagedBudget {
  std::uint64_t limit = 0;
  std::atomic<std::uint64_t> used{0};
  TableMutex mutex;
  RankedCondition left;
  std::size_t wholes = 0;  ///< WholeBytes that hold memory; guarded by mutex.
};

/// All bytes of a file, for as long as this lives and the file does not change.
class WholeBytes {
 public:
  explicit WholeBytes(ByteView there) : view_(there) {}
  /// Memory of its own for `size` bytes; waits until others have left so much of the budget, or no
  /// other has any.
  WholeBytes(std::shared_ptr<StagedBudget> budget, std::uint64_t size);
  ~WholeBytes();
  WholeBytes(WholeBytes&& other) noexcept = default;
  WholeBytes(const WholeBytes&) = delete;
  WholeBytes& operator=(const WholeBytes&) = delete;
  WholeBytes& operator=(WholeBytes&&) = delete;

  [[nodiscard]] ByteView view() const { return view_; }
  [[nodiscard]] MutableByteView memory() { return memory_; }

 private:
  std::shared_ptr<StagedBudget> budget_;  ///< Null: nothing of it is held.
  Bytes memory_;
  ByteView view_;
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
  /// May wait for others that have it of other files.
  [[nodiscard]] Result<WholeBytes> whole() const;

 private:
  Result<void> spill();
  Result<void> make_room(std::uint64_t size);
  Result<void> append(ByteView bytes);
  [[nodiscard]] Result<void> read_file(std::uint64_t offset, MutableByteView out) const;
  void account();

  std::shared_ptr<Store> store_;
  std::shared_ptr<StagedBudget> budget_;
  std::uint64_t size_ = 0;
  std::uint64_t accounted_ = 0;
  Bytes memory_;
  std::unique_ptr<NewFile> file_;  ///< Where the bytes are instead of in memory.
};

}  // namespace zarrfs
