// The order in which locks are taken, and a check of it. A thread takes a lock only while it holds
// none of the same or of a later rank; try_lock, which cannot wait, is free of that.
// docs/architecture.md ("Locks") says what each rank is for. Every mutex has one:
// tests/layers/check_layers.py fails on a bare std::mutex.
//
// The check costs a few instructions for each lock. What happens where the order is broken is set
// by tests and by builds without NDEBUG, which abort: the order is then known to be wrong without a
// deadlock having to happen.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

#include "core/base/thread_safety.h"

namespace zarrfs {

/// From the outermost lock to the innermost one. Those before kNodes may be held across I/O.
enum class LockRank : std::uint8_t {
  kCommand,       ///< Of a command: what its threads found is told or noted, one after the other.
  kCreationTurn,  ///< CreationGate: whose turn it is.
  kCreation,      ///< CreationGate: names and nodes are made.
  kMoveTurn,      ///< MoveGate: whose turn it is.
  kMove,          ///< MoveGate: chunks are put, or a node is moved.
  kStagedFile,    ///< StagedFile: its bytes are read, changed, submitted and persisted.
  kDecoding,      ///< DecodedFile: one reader decodes a chunk, others wait for its bytes.
  kChange,        ///< MetadataEditor: one change of documents at a time.
  kShard,  ///< DirtyShard::commit_mutex: a shard's successor is written or becomes the shard.
  kRoom,   ///< WriteParts::room_mutex: shared by writes, alone by a commit that needs all room.
  kSpareFiles,  ///< Committer: descriptors that a commit may use up.
  kDocument,    ///< DocumentStore: between reading a document and replacing it.
  kSpool,       ///< SpoolLimit: what waits to be committed is added up.
  kDirty,       ///< DirtyTable: while nothing is dirty, the log and the reserve are let go.
  kReserve,     ///< Reserve: the file that holds room for commits.
  kLog,         ///< LogWriter: records are appended and synced.
  kDrafts,      ///< DirtyShard::state_mutex: what readers see of a shard that is being written.
  kStore,  ///< Below the store: an archive's part, a cached object, a watch, a server's abilities.
  kNodes,  ///< NodeCache, and the tables of its arrays.
  kTable,  ///< Tables; held for a moment, without I/O.
  kMessages,  ///< The log of messages and progress, which whoever holds a lock may write to.
};
inline constexpr std::size_t kLockRanks = static_cast<std::size_t>(LockRank::kMessages) + 1;

class LockOrder {
 public:
  /// `held` and `wanted` are ranks.
  using Broken = void (*)(std::size_t held, std::size_t wanted);
  /// Called by a thread that breaks the order, before it takes the lock.
  static void when_broken(Broken act) { broken_ = act; }

  static void check(LockRank rank) { check_from(rank, index(rank)); }
  /// Where one of the same rank may be held.
  static void check_chained(LockRank rank) { check_from(rank, index(rank) + 1); }
  static void taken(LockRank rank) { ++held_[index(rank)]; }
  static void released(LockRank rank) { --held_[index(rank)]; }

 private:
  static constexpr std::size_t index(LockRank rank) { return static_cast<std::size_t>(rank); }
  static void check_from(LockRank rank, std::size_t first) {
    const Broken act = broken_;
    if (act == nullptr) return;
    for (std::size_t held = first; held < held_.size(); ++held) {
      if (held_[held] != 0) return act(held, index(rank));
    }
  }
  [[maybe_unused]] static void abort_at(std::size_t held, std::size_t wanted) {
    std::fprintf(stderr, "a lock of rank %zu is held and one of rank %zu asked for: see %s\n", held,
                 wanted, "core/base/lock_order.h");
    std::abort();
  }
#ifdef NDEBUG
  static inline std::atomic<Broken> broken_{nullptr};
#else
  static inline std::atomic<Broken> broken_{&abort_at};
#endif
  /// Locks of each rank that this thread holds.
  static inline thread_local std::array<std::uint32_t, kLockRanks> held_{};
};

/// A mutex of the standard library with its place in the order. Clang's analysis follows it where
/// HeldLock or ChainedLock takes it (core/base/thread_safety.h).
template <class Mutex, LockRank kRank>
class ZARRFS_CAPABILITY Ranked {
 public:
  void lock() ZARRFS_ACQUIRE() ZARRFS_UNCHECKED {
    LockOrder::check(kRank);
    mutex_.lock();
    LockOrder::taken(kRank);
  }
  /// For a thread that holds one of the same rank, where the caller says what orders the two.
  void lock_chained() ZARRFS_ACQUIRE() ZARRFS_UNCHECKED {
    LockOrder::check_chained(kRank);
    mutex_.lock();
    LockOrder::taken(kRank);
  }
  bool try_lock() ZARRFS_TRY_ACQUIRE(true) ZARRFS_UNCHECKED { return taken(mutex_.try_lock()); }
  template <class Duration>
  bool try_lock_for(const Duration& time) ZARRFS_TRY_ACQUIRE(true) ZARRFS_UNCHECKED {
    LockOrder::check(kRank);
    return taken(mutex_.try_lock_for(time));
  }
  void unlock() ZARRFS_RELEASE() ZARRFS_UNCHECKED {
    LockOrder::released(kRank);
    mutex_.unlock();
  }
  void lock_shared() ZARRFS_ACQUIRE_SHARED() ZARRFS_UNCHECKED {
    LockOrder::check(kRank);
    mutex_.lock_shared();
    LockOrder::taken(kRank);
  }
  bool try_lock_shared() ZARRFS_TRY_ACQUIRE_SHARED(true) ZARRFS_UNCHECKED {
    return taken(mutex_.try_lock_shared());
  }
  void unlock_shared() ZARRFS_RELEASE_SHARED() ZARRFS_UNCHECKED {
    LockOrder::released(kRank);
    mutex_.unlock_shared();
  }

 private:
  static bool taken(bool done) {
    if (done) LockOrder::taken(kRank);
    return done;
  }
  Mutex mutex_;
};

/// Holds a mutex while it lives, as std::lock_guard, and clang sees that what the mutex guards may
/// be used. May wait for a RankedCondition.
template <class Mutex>
class [[nodiscard]] ZARRFS_SCOPED_CAPABILITY HeldLock {
 public:
  explicit HeldLock(Mutex& mutex) ZARRFS_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// The mutex is held already, as by try_lock.
  HeldLock(Mutex& mutex, std::adopt_lock_t) ZARRFS_REQUIRES(mutex) : mutex_(mutex) {}
  ~HeldLock() ZARRFS_RELEASE() {
    if (held_) mutex_.unlock();
  }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  void lock() ZARRFS_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() ZARRFS_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// As HeldLock: see Ranked::lock_chained.
template <class Mutex>
class [[nodiscard]] ZARRFS_SCOPED_CAPABILITY ChainedLock {
 public:
  explicit ChainedLock(Mutex& mutex) ZARRFS_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.lock_chained();
  }
  ~ChainedLock() ZARRFS_RELEASE() { mutex_.unlock(); }
  ChainedLock(const ChainedLock&) = delete;
  ChainedLock& operator=(const ChainedLock&) = delete;

 private:
  Mutex& mutex_;
};

/// As HeldLock, shared with others that hold it so.
template <class Mutex>
class [[nodiscard]] ZARRFS_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(Mutex& mutex) ZARRFS_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~SharedLock() ZARRFS_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  Mutex& mutex_;
};

template <LockRank kRank>
using RankedMutex = Ranked<std::mutex, kRank>;
/// Of a table: held for a moment, never across I/O or another lock.
using TableMutex = RankedMutex<LockRank::kTable>;
using CommandMutex = RankedMutex<LockRank::kCommand>;
/// Of the log of messages, and of progress that is drawn.
using MessageMutex = RankedMutex<LockRank::kMessages>;
/// What threads wait on for a change that a ranked mutex guards.
using RankedCondition = std::condition_variable_any;

}  // namespace zarrfs
