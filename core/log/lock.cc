#include "core/log/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/own_process.h"
#include "core/base/printable.h"
#include "core/log/log.h"
#include "core/log/whole_file.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;

constexpr int kAttemptsToShare = 5;
constexpr std::chrono::seconds kMostWait{3};
constexpr int kMostTakings = 100;  // each after another holder has removed the directory

/// The arguments of process `pid`, separated by blanks; empty where they cannot be read.
std::string command_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/cmdline", std::ios::binary);
  std::string line;
  for (char c = 0; file.get(c);) line.push_back(c == '\0' ? ' ' : c);
  if (!line.empty()) line.pop_back();
  return printable(line);
}

/// Who holds a lock.
struct Holder {
  bool is_zarrfs = false;
  std::string called = "another program";  ///< "process 4711 (zarrfs mount a b)".
};

/// Who holds a lock on the file of `descriptor`, from /proc/locks.
Holder holder_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {};
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, pid, file;
    words >> number >> kind >> mode >> access >> pid >> file;
    const auto colon = file.rfind(':');
    if (kind != "FLOCK" || colon == std::string::npos) continue;
    if (file.substr(colon + 1) != std::to_string(status.st_ino)) continue;
    const std::string command = command_of(pid);
    return {is_zarrfs_process(pid),
            "process " + pid + (command.empty() ? "" : " (" + command + ")")};
  }
  return {};
}

Error busy(const Store& store, const Holder& holder) {
  return {Fault::kBusy, "store " + store.name() + " is already written by " + holder.called};
}

/// The lock that zarrfs 0.1 takes alone: kBusy where it has it. Anybody who may read the store can
/// have it too, which says nothing.
Result<Fd> share_root(const Store& store, Fd root) {
  if (::flock(root.get(), LOCK_SH | LOCK_NB) == 0) return root;
  if (errno != EWOULDBLOCK) return fail(system_error(errno, "locking store " + store.name()));
  const Holder holder = holder_of(root.get());
  if (holder.is_zarrfs) return fail(busy(store, holder));
  return Fd();
}

/// `.zarrfs`, opened; made where there is none.
Result<Fd> open_own_directory(Store& store) {
  ZARRFS_CHECK(make_own_directory(store));
  auto own = store.open_plain(kLogDirectory, O_RDONLY | O_DIRECTORY, 0);
  if (own || own.error().fault != Fault::kDenied) return own;
  return fail(Fault::kDenied, "store " + store.name() + ": its directory " + kLogDirectory +
                                  " is another user's, who writes to the store, or did");
}

/// Whether `own` is `.zarrfs` still, and not one that its last holder removed.
Result<bool> is_current(Store& store, const Fd& own) {
  ZARRFS_TRY(const auto now, store.status(kLogDirectory));
  struct stat mine {};
  if (::fstat(own.get(), &mine) != 0) return fail(system_error(errno, "locking " + store.name()));
  return now && now->st_ino == mine.st_ino && now->st_dev == mine.st_dev;
}

/// `.zarrfs`, made and locked.
Result<Fd> lock_own_directory(Store& store, int how) {
  int attempt = 0;
  for (int round = 0; round < kMostTakings; ++round) {
    ZARRFS_TRY(Fd own, open_own_directory(store));
    if (!own.valid()) continue;  // removed since it was made
    if (::flock(own.get(), how | LOCK_NB) != 0) {
      const bool may_pass = errno == EWOULDBLOCK && how == LOCK_SH;  // its last holder removes it
      if (may_pass && ++attempt < kAttemptsToShare) {
        // The kernel does not tell when it lets go.
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      if (errno == EWOULDBLOCK) return fail(busy(store, holder_of(own.get())));
      return fail(system_error(errno, "locking store " + store.name()));
    }
    ZARRFS_TRY(const bool current, is_current(store, own));
    if (current) return own;
  }
  return fail(Fault::kBusy, "store " + store.name() + ": its directory " + kLogDirectory +
                                " is another one each time that it is looked at, as it is where "
                                "the store lies within a mount of zarrfs");
}

/// `.zarrfs`, locked alone; or shared, where others share the store already.
Result<Fd> lock_with_others(Store& store) {
  const auto until = std::chrono::steady_clock::now() + kMostWait;
  for (;;) {
    auto alone = lock_own_directory(store, LOCK_EX);
    if (alone || alone.error().fault != Fault::kBusy) return alone;
    ZARRFS_TRY(const bool opened, is_shared(store));
    if (opened) {
      auto own = lock_own_directory(store, LOCK_SH);
      if (own || own.error().fault != Fault::kBusy) return own;
    }
    // One that opens the epoch has it alone for a moment, which the kernel tells nobody.
    if (std::chrono::steady_clock::now() > until) return alone;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

bool is_written_as_store(const fs::path& directory) {
  std::error_code error;
  for (const char* name : {"zarr.json", ".zgroup", kLogDirectory}) {
    if (fs::exists(directory / name, error)) return true;
  }
  return false;
}

bool is_not_ours(const Error& error) {
  return error.fault == Fault::kDenied || error.fault == Fault::kReadOnly;
}

/// The lock of the store at `directory`, in which another one lies that is to be written.
Result<StoreLock> share(const std::string& directory) {
  ZARRFS_TRY(std::shared_ptr<Store> store, open_store(directory, LinkPolicy::kInside));
  ZARRFS_TRY(Fd own, lock_own_directory(*store, LOCK_SH));
  StoreLock lock(store, std::move(own), Fd(), {}, false);
  ZARRFS_TRY(const bool unpublished, has_unpublished(*store));
  if (!unpublished) return lock;
  return fail(Fault::kBusy, directory +
                                " has chunks that are not published yet: run zarrfs "
                                "recover, or mount it for writing and unmount it");
}

struct LocksAbove {
  std::vector<StoreLock> locks;
  bool all = true;  ///< None was left out.
};

/// Those who share a node, and those who share the store, would be writers of the same shards that
/// know nothing of each other: locks need not hold between their machines.
Error not_alone(const Store& node, const std::string& above) {
  return {Fault::kBusy, "store " + node.name() + " lies in the store " + above +
                            ": with -o shared, mount that one, and write to the node in it"};
}

/// The locks of the stores that the directory `root` lies in.
Result<LocksAbove> share_above(const Fd& root) {
  LocksAbove above;
  std::error_code error;
  fs::path at = fs::read_symlink("/proc/self/fd/" + std::to_string(root.get()), error);
  while (!error && at.has_relative_path()) {
    at = at.parent_path();
    if (!is_written_as_store(at)) continue;
    auto lock = share(at.string());
    if (lock) {
      above.locks.push_back(std::move(*lock));
    } else if (!is_not_ours(lock.error())) {
      return fail(std::move(lock.error()));
    } else {
      above.all = false;
    }
  }
  above.all = above.all && !error;
  return above;
}

}  // namespace

StoreLock::~StoreLock() {
  if (!own_.valid() || ::flock(own_.get(), LOCK_EX | LOCK_NB) != 0) return;  // others share it
  // Before the lock goes: who waits for it looks whether the directory is there still.
  static_cast<void>(store_->remove_directory(kLogDirectory));
}

void StoreLock::share() { static_cast<void>(::flock(own_.get(), LOCK_SH)); }

namespace {
/// `lock_own` locks the store's own directory, below the locks of the stores that it lies in.
Result<StoreLock> lock_by(std::shared_ptr<Store> store,
                          Result<Fd> (*lock_own)(Store& store, const LocksAbove& above)) {
  ZARRFS_TRY(Fd root, store->open_plain("", O_RDONLY | O_DIRECTORY, 0));
  ZARRFS_TRY(LocksAbove above, share_above(root));
  ZARRFS_TRY(root, share_root(*store, std::move(root)));
  ZARRFS_TRY(Fd own, lock_own(*store, above));
  return StoreLock(std::move(store), std::move(own), std::move(root), std::move(above.locks),
                   above.all);
}
}  // namespace

Result<StoreLock> lock_store(std::shared_ptr<Store> store) {
  return lock_by(std::move(store),
                 [](Store& one, const LocksAbove&) { return lock_own_directory(one, LOCK_EX); });
}

Result<StoreLock> share_store(std::shared_ptr<Store> store) {
  return lock_by(std::move(store), [](Store& one, const LocksAbove& above) -> Result<Fd> {
    ZARRFS_TRY(const bool opened, is_shared(one));  // before a store was made around it
    if (!above.locks.empty() && !opened) return fail(not_alone(one, above.locks.back().name()));
    return lock_with_others(one);
  });
}

}  // namespace zarrfs
