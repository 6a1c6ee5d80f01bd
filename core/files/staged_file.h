// A file that is being written: a chunk or document that a program has open for
// writing, or a file of another name in an array ("temporary": mostly the
// unfinished file of an atomic write).
//
// It has one mutex, held across the I/O of that file; a thread that needs two takes both
// at once (std::lock).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/lock_order.h"
#include "core/base/request.h"
#include "core/files/staged_bytes.h"
#include "core/nodes/node_state.h"
#include "core/nodes/stored_permissions.h"
#include "core/view/node_id.h"

namespace zarrfs {

using StagedMutex = Ranked<std::mutex, LockRank::kStagedFile>;

class StagedFile {
 public:
  enum class Kind { kChunk, kDocument, kTemporary };
  static constexpr NodeId kNoNode = 0;

  /// Where its bytes are. Chunks and documents are submitted, temporary files persisted.
  enum class State {
    kClean,      ///< As it was opened: nothing is to be done with it.
    kDirty,      ///< Written: what it holds is nowhere else.
    kSubmitted,  ///< In its shard's successor, or the node's document.
    kPersisted,  ///< In a file of its name in the store.
    kOutdated,   ///< Written, while the store has another file of its name.
    kUnlinked,   ///< It has no name any more: what is written to it goes nowhere.
                 ///< The end.
    kRenamed,    ///< Opened after the file of its number took another name: empty, and cannot be
                 ///< written. The end, from the start.
  };

  StagedFile(std::uint64_t number_in, Kind kind, std::shared_ptr<Store> store,
             std::shared_ptr<StagedBudget> budget)
      : number(number_in), made_as(kind), bytes(std::move(store), std::move(budget)), kind_(kind) {}

  const std::uint64_t number;  ///< Never used twice.
  const Kind made_as;          ///< A temporary file keeps its inode number, whatever it
                               ///< becomes.

  mutable StagedMutex mutex;
  // Under mutex:
  std::string path;         ///< As programs see it. Of documents: the document's.
  Coordinates chunk;        ///< Of kChunk.
  std::uint64_t limit = 0;  ///< Bytes it may have; 0: any number.
  StagedBytes bytes;
  struct timespec modified {};
  std::optional<Caller> caller;  ///< Who opened it first, where he is another user than ours.
  std::optional<mode_t> umask;   ///< Of who opened it first, where he could make it.
  std::optional<Permissions> permissions;  ///< On a mount for others.
  std::size_t writers = 0;                 ///< Opened files.
  std::size_t unfinished = 0;              ///< Of these, written to since their last close(2).
  /// The node by which a chunk or document is looked up as long as it is written, whatever is
  /// published meanwhile: programs that lock it and append to it use one. kNoNode: its own, by its
  /// number.
  std::atomic<NodeId> node{kNoNode};
  std::chrono::steady_clock::time_point idle_since{};

  /// Changed under mutex and StagedTable's lock, read under one of them.
  std::string directory;  ///< Of the store: the array, or the node a document
                          ///< belongs to.
  [[nodiscard]] Kind kind() const { return kind_; }
  /// It takes the name of a chunk, a document or another temporary file.
  void renamed(Kind kind) { kind_ = kind; }

  /// `node`, for who does not hold the mutex, which is held across I/O.
  [[nodiscard]] std::optional<NodeId> written_by() const {
    const NodeId by = node;
    return by == kNoNode ? std::nullopt : std::optional(by);
  }

  /// Whether it is not unlinked, for who does not hold the mutex. Waits for one that is loaded.
  [[nodiscard]] bool has_name() const {
    const std::lock_guard lock(mutex);
    return !unlinked();
  }

  // The states, and every way from one to another. Under mutex.

  [[nodiscard]] State state() const { return state_; }
  /// Whether it holds what is to be submitted or persisted.
  [[nodiscard]] bool dirty() const { return state_ == State::kDirty || state_ == State::kOutdated; }
  [[nodiscard]] bool unlinked() const { return state_ == State::kUnlinked; }
  [[nodiscard]] bool writable() const { return state_ != State::kRenamed; }
  /// Whether a file of its name is in the store.
  [[nodiscard]] bool stored() const {
    return state_ == State::kPersisted || state_ == State::kOutdated;
  }
  void wrote() { enter(stored() ? State::kOutdated : State::kDirty); }
  void submitted() { enter(State::kSubmitted); }
  void persisted() { enter(State::kPersisted); }
  /// The file in the store is gone.
  void withdrawn() { enter(State::kDirty); }
  /// It has a name by which the store has another file.
  void replaces_stored() { enter(State::kOutdated); }
  /// What could not be submitted is given up: who closed it was told.
  void dropped() { enter(State::kClean); }
  void unlink() { enter(State::kUnlinked); }
  /// Of a file that was just made.
  void renamed_before() { enter(State::kRenamed); }

 private:
  void enter(State state) {
    if (state_ != State::kUnlinked && state_ != State::kRenamed) state_ = state;
  }

  Kind kind_;
  State state_ = State::kClean;
};

using StagedPointer = std::shared_ptr<StagedFile>;

}  // namespace zarrfs
