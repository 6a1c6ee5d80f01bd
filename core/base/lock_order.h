// The order in which locks are taken, and a check of it. A thread takes a lock only while it holds
// none of the same or of a higher rank; try_lock, which cannot wait, is free of that.
// docs/architecture.md ("Locks") says what each is for.
//
// The check costs a few instructions for each lock. What happens where the order is broken is set
// by tests and by builds without NDEBUG, which abort: the order is then known to be wrong without a
// deadlock having to happen.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace zarrfs {

/// From the outermost lock to the innermost one.
enum class LockRank : std::uint8_t {
  kCreation,    ///< CreationGate: names and nodes are made.
  kMove,        ///< MoveGate: chunks are put, or a node is moved.
  kStagedFile,  ///< StagedFile: its bytes are read, changed, submitted and persisted.
  kChange,      ///< MetadataEditor: one change of documents at a time.
  kDocument,    ///< DocumentStore: between reading a document and replacing it.
  kRegistry,    ///< Tables; held for a moment, without I/O.
};
inline constexpr std::size_t kLockRanks = static_cast<std::size_t>(LockRank::kRegistry) + 1;

class LockOrder {
 public:
  using Broken = void (*)();
  /// Called by a thread that breaks the order, before it takes the lock.
  static void when_broken(Broken act) { broken_ = act; }

  static void check(LockRank rank) {
    const Broken act = broken_;
    if (act == nullptr) return;
    for (std::size_t held = index(rank); held < held_.size(); ++held) {
      if (held_[held] != 0) return act();
    }
  }
  static void taken(LockRank rank) { ++held_[index(rank)]; }
  static void released(LockRank rank) { --held_[index(rank)]; }

 private:
  static constexpr std::size_t index(LockRank rank) { return static_cast<std::size_t>(rank); }
#ifdef NDEBUG
  static inline std::atomic<Broken> broken_{nullptr};
#else
  static inline std::atomic<Broken> broken_{[] { std::abort(); }};
#endif
  /// Locks of each rank that this thread holds.
  static inline thread_local std::array<std::uint32_t, kLockRanks> held_{};
};

/// A mutex of the standard library with its place in the order.
template <class Mutex, LockRank kRank>
class Ranked {
 public:
  void lock() {
    LockOrder::check(kRank);
    mutex_.lock();
    LockOrder::taken(kRank);
  }
  bool try_lock() { return taken(mutex_.try_lock()); }
  template <class Duration>
  bool try_lock_for(const Duration& time) {
    LockOrder::check(kRank);
    return taken(mutex_.try_lock_for(time));
  }
  void unlock() {
    LockOrder::released(kRank);
    mutex_.unlock();
  }
  void lock_shared() {
    LockOrder::check(kRank);
    mutex_.lock_shared();
    LockOrder::taken(kRank);
  }
  bool try_lock_shared() { return taken(mutex_.try_lock_shared()); }
  void unlock_shared() {
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

}  // namespace zarrfs
