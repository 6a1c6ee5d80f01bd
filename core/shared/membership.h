// Who writes to a shared store: this writer's coming, its signs of life, and what is known of the
// others. SHARED.md has the protocol; the words are its.
//
// Thread-safe. Calls of the file system are made under its lock, so that no two threads move the
// token at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/base/thread_safety.h"
#include "core/shared/record.h"
#include "core/shared/shared_options.h"
#include "core/shared/small_files.h"

namespace zarrfs {

/// Another writer, or an earlier one of this process.
struct OtherWriter {
  MemberRecord record;
  /// "alive-7", "taken-by-...", "left", "finished", "kept"; empty: not seen.
  std::string token{};
  bool suspect = false;  ///< It seems to be dead, or who has taken its log.
  /// When its token was first seen to be this one.
  std::chrono::steady_clock::time_point moved{};

  /// It writes nothing more, and nobody has to put anything of it.
  [[nodiscard]] bool has_ended() const;
  /// Its log has chunks that could not be put when it ended.
  [[nodiscard]] bool has_kept() const;
};

class Membership {
 public:
  Membership(std::shared_ptr<Store> store, SharedOptions options);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Comes, opening an epoch where there is none, and gives signs of life from now on. kBusy where
  /// a mount writes to the store alone; kDenied where `.zarrfs` is another user's; kUnsupported
  /// where the file system lacks what is needed. `came_again`: called without a lock after this
  /// writer has lost its log, by whichever thread has noticed.
  Result<void> join(std::function<void()> came_again);

  [[nodiscard]] const std::string& mount() const { return mount_; }
  [[nodiscard]] const SharedOptions& options() const { return options_; }
  /// The path of the epoch's directory.
  [[nodiscard]] const std::string& epoch() const { return epoch_; }
  [[nodiscard]] std::string writer() const;
  /// The path of this writer's directory now, and how often it has come; empty before join().
  struct Place {
    std::string path;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Place place() const;
  /// When what caches say is of this epoch.
  [[nodiscard]] std::chrono::steady_clock::time_point adopts_from() const;
  /// For how long what is known to be there may not be seen: longer than caches lie.
  [[nodiscard]] std::chrono::milliseconds patience() const;

  /// Moves the token: what the log had, synced, before the call will be read, whatever happens.
  /// False where the log of coming `count` is not this writer's any more; it has come again then,
  /// and what is not in a generation has to be written into the new log.
  Result<bool> confirm(std::uint64_t count);
  /// Says, durably, that a file comes beside `path` before it is announced: so whoever closes the
  /// epoch looks there for what a kill has left.
  Result<void> intend(const std::string& path);
  /// Announces, durably. False as in confirm.
  Result<bool> announce(const Announcement& announcement);
  /// It need not be decided any more.
  Result<void> decided(const Announcement& announcement);

  /// All members but this writer, each once.
  Result<std::vector<OtherWriter>> others();
  /// When each member that others() has named came, by the file system's clock: seconds since 1970.
  Result<std::map<std::string, std::int64_t>> arrivals();
  /// Takes the log of a suspect. False: another was quicker, or it lives.
  Result<bool> take(const OtherWriter& other);
  /// Waits until what others had synced before the call can be seen: what this machine has looked
  /// at before may hide it. False: this writer ends.
  bool outlast_caches();
  /// Its log needs nobody any more; `kept`: it has chunks that nobody may put.
  Result<void> finish(const OtherWriter& other, bool kept);

  /// Gives no more signs of life. `kept`: its log has chunks that nobody may put.
  Result<void> leave(bool kept);
  /// Says that the epoch is closed, unless somebody has come meanwhile. Gives no more signs of
  /// life, whichever it is: leave() is what follows where it is not closed.
  Result<bool> say_closed();
  /// No more signs of life, and nothing else: as if it had died.
  void stop();

 private:
  struct Watched {
    std::string token;
    std::chrono::steady_clock::time_point since;
  };

  Result<void> open_epoch() ZARRFS_REQUIRES(mutex_);
  Result<std::string> make_epoch() ZARRFS_REQUIRES(mutex_);
  Result<void> check_names() ZARRFS_REQUIRES(mutex_);
  /// False: the epoch is closed.
  Result<bool> come() ZARRFS_REQUIRES(mutex_);
  Result<bool> come_to_epoch() ZARRFS_REQUIRES(mutex_);
  Result<void> come_again() ZARRFS_REQUIRES(mutex_);
  Result<bool> enter(const MemberRecord& record, const std::string& folder) ZARRFS_REQUIRES(mutex_);
  Result<void> read_members() ZARRFS_REQUIRES(mutex_);
  Result<bool> move_token() ZARRFS_REQUIRES(mutex_);
  Result<void> append_announced(const std::string& line) ZARRFS_REQUIRES(mutex_);
  [[nodiscard]] std::string own_name() const ZARRFS_REQUIRES(mutex_);
  Result<OtherWriter> look_at(const MemberRecord& record) ZARRFS_REQUIRES(mutex_);
  bool seems_dead(const std::string& writer, const std::string& token) ZARRFS_REQUIRES(mutex_);
  bool is_let_go(const std::string& writer) ZARRFS_REQUIRES(mutex_);
  [[nodiscard]] std::string member_path(std::uint64_t number) const;
  [[nodiscard]] std::string folder_of(const std::string& writer) const;
  void beat();

  const std::shared_ptr<Store> store_;
  const SharedOptions options_;
  const std::string mount_;
  std::string epoch_;
  std::function<void()> came_again_;

  mutable RankedMutex<LockRank::kStore> mutex_;
  std::uint64_t count_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t moves_ ZARRFS_GUARDED_BY(mutex_) = 0;  ///< Of the token.
  Fd holder_ ZARRFS_GUARDED_BY(mutex_);                ///< Locked as long as this writer lives.
  std::unique_ptr<NewFile> announced_ ZARRFS_GUARDED_BY(mutex_);
  std::uint64_t announced_bytes_ ZARRFS_GUARDED_BY(mutex_) = 0;
  std::set<std::string> pending_ ZARRFS_GUARDED_BY(mutex_);      ///< Lines that are not decided.
  std::vector<MemberRecord> members_ ZARRFS_GUARDED_BY(mutex_);  ///< From number 1 on.
  bool closed_ ZARRFS_GUARDED_BY(mutex_) = false;                ///< The epoch is.
  std::map<std::string, Watched> watched_ ZARRFS_GUARDED_BY(mutex_);
  std::set<std::string> taken_by_lock_ ZARRFS_GUARDED_BY(mutex_);  ///< Mounts.
  bool believes_locks_ ZARRFS_GUARDED_BY(mutex_) = true;
  std::chrono::steady_clock::time_point joined_ ZARRFS_GUARDED_BY(mutex_);

  TableMutex beat_mutex_;
  RankedCondition beat_wake_;
  bool stopping_ = false;  ///< Under beat_mutex_.
  std::thread beat_;
};

/// What the writers of the epoch were told, each time the longest; nothing where none has come.
Result<std::optional<SharedOptions>> options_of_members(Store& store);

}  // namespace zarrfs
