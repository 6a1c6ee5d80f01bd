// Files being written: a chunk or document that a program has open for writing, or a file of
// another name in an array ("scratch": mostly the temporary file of an atomic write). Their bytes
// are in memory; large ones, and all beyond the budget, in a file without a name.
//
// A Work has one mutex, held across the I/O of that file; who needs two takes both at once
// (std::lock). WorkFiles is thread-safe and holds its lock for a moment only.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/lock_order.h"
#include "core/base/request.h"
#include "core/nodes/node_state.h"
#include "core/nodes/stored_permissions.h"
#include "core/store/store.h"

namespace zarrfs {

/// Bytes of memory that works may use together.
struct WorkBudget {
  std::uint64_t limit = 0;
  std::atomic<std::uint64_t> used{0};
};

/// Bytes that can be written in any order; holes are zeros. One thread at a time.
class WorkBytes {
 public:
  WorkBytes(std::shared_ptr<Store> store, std::shared_ptr<WorkBudget> budget)
      : store_(std::move(store)), budget_(std::move(budget)) {}
  ~WorkBytes();
  WorkBytes(const WorkBytes&) = delete;
  WorkBytes& operator=(const WorkBytes&) = delete;

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
  std::shared_ptr<WorkBudget> budget_;
  std::uint64_t size_ = 0;
  std::uint64_t accounted_ = 0;
  Bytes memory_;
  std::unique_ptr<NewFile> file_;  ///< Where the bytes are instead of in memory.
};

using WorkMutex = Ranked<std::mutex, LockRank::kWork>;

struct Work {
  enum class Kind { kChunk, kDocument, kScratch };

  Work(std::uint64_t number_in, Kind kind_in, std::shared_ptr<Store> store,
       std::shared_ptr<WorkBudget> budget)
      : number(number_in),
        was_scratch(kind_in == Kind::kScratch),
        kind(kind_in),
        bytes(std::move(store), std::move(budget)) {}

  const std::uint64_t number;  ///< Never used twice.
  const bool was_scratch;      ///< It has an inode number of its own, whatever its name is now.

  mutable WorkMutex mutex;
  // Changed under mutex and the registry's lock, by WorkFiles::enter:
  Kind kind;
  std::string directory;  ///< Of the store: the array, or the node a document belongs to.
  // Under mutex:
  std::string path;         ///< By which programs name it. Of documents: the document's.
  Coordinates chunk;        ///< Of kChunk.
  std::uint64_t limit = 0;  ///< Bytes it may have; 0: any number.
  WorkBytes bytes;
  struct timespec modified {};
  std::optional<Caller> caller;  ///< Who opened it first, where he is another user than ours.
  std::optional<Permissions> permissions;  ///< On a mount for others.
  std::size_t writers = 0;                 ///< Opened files.
  bool dirty = false;                      ///< Written since it was last handed on.
  bool gone = false;                       ///< Its name was removed or taken by another file.
  bool backed = false;                     ///< Scratch: a file of its name is in the store.
  std::chrono::steady_clock::time_point idle_since{};
};

using WorkPointer = std::shared_ptr<Work>;

class WorkFiles {
 public:
  WorkFiles(std::shared_ptr<Store> store, std::uint64_t memory);

  [[nodiscard]] WorkPointer make(Work::Kind kind);
  [[nodiscard]] WorkPointer find(const std::string& key) const;
  [[nodiscard]] WorkPointer find(std::uint64_t number) const;
  /// For a program that opens a temporary file which was renamed or removed since it was looked up:
  /// a file of the same number without a name, whose contents go nowhere. Null where no file of
  /// this number has left lately.
  [[nodiscard]] WorkPointer nameless(std::uint64_t number) const;
  /// Enters it under `key` where nothing stands; returns what stands there then.
  WorkPointer enter_new(const std::string& key, const WorkPointer& work);
  /// Enters it under `key` as what it is from now on; returns the one that stood there. The
  /// caller holds the work's mutex, or is the only one who knows it.
  WorkPointer enter(const std::string& key, WorkPointer work, Work::Kind kind,
                    const std::string& directory);
  /// The directory `from`, at or below which it stands, is called `to` now. The caller holds the
  /// work's mutex.
  void moved(const WorkPointer& work, const std::string& from, const std::string& to);
  /// Takes `work` out, wherever it stands.
  void leave(const WorkPointer& work);
  /// Names of scratch files directly in the directory that programs call `path`.
  [[nodiscard]] std::vector<std::string> scratch_in(const std::string& path) const;
  /// All that stand at or below a path of the store.
  [[nodiscard]] std::vector<WorkPointer> below(const std::string& path) const;
  [[nodiscard]] bool empty() const { return count_.load() == 0; }

 private:
  std::shared_ptr<Store> store_;
  std::shared_ptr<WorkBudget> budget_;
  std::atomic<std::uint64_t> last_{0};
  std::atomic<std::size_t> count_{0};
  mutable Ranked<std::mutex, LockRank::kRegistry> mutex_;
  std::unordered_map<std::string, WorkPointer> by_key_;
  std::unordered_map<std::uint64_t, std::string> keys_;
  std::deque<std::uint64_t> left_;  ///< Numbers of temporary files, the latest last.
};

/// The key of a chunk's work: one, by whatever name the chunk is reached.
std::string chunk_key(const NodeState& array, const Coordinates& chunk);

}  // namespace zarrfs
