#include "fs/umount_command.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ostream>
#include <thread>
#include <utility>

#include "core/base/fd.h"
#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "core/store/open_store.h"
#include "fs/mounts/daemon_state.h"
#include "fs/mounts/holders.h"
#include "fs/mounts/mount_table.h"
#include "fs/options/option_values.h"
#include "fs/requests/front_end.h"
#include "fs/requests/publish.h"

namespace zarrfs {
namespace {

using UmountClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSilentWait{5000};
constexpr std::chrono::milliseconds kBetweenTries{10};
/// On a busy machine they take longer, and so do those who let go: commands that ask mounts wait
/// for kAnswerPatience.
constexpr int kTries = 300;
static_assert(kTries * kBetweenTries > kAnswerPatience);
constexpr std::uint64_t kTimeout = 60;  // seconds
constexpr std::uint64_t kLongestTimeout = std::uint64_t{30} * 24 * 60 * 60;
constexpr std::uint64_t kHighestProcess = std::uint64_t{1} << 22U;  // PID_MAX_LIMIT.

/// A descriptor that becomes readable when the daemon behind the mount ends. None where the mount
/// does not answer or belongs to somebody who does not let this process in.
Fd watch_daemon(const std::string& mountpoint) {
  std::array<char, 32> text{};
  const ssize_t size = ::getxattr(mountpoint.c_str(), std::string(kProcessAttribute).c_str(),
                                  text.data(), text.size());
  if (size <= 0) return {};
  const auto process =
      parse_number({text.data(), static_cast<std::size_t>(size)}, 1, kHighestProcess);
  if (!process) return {};
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(*process), 0)));
}

/// Whether the daemon ended within `time`; without one: waits until it does.
bool ends_within(const Fd& daemon, std::optional<std::chrono::milliseconds> time) {
  pollfd ended = {daemon.get(), POLLIN, 0};
  const auto until = UmountClock::now() + time.value_or(std::chrono::milliseconds(0));
  for (;;) {
    int left = -1;
    if (time) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - UmountClock::now());
      left = static_cast<int>(std::max<std::int64_t>(rest.count(), 0));
    }
    const int ready = ::poll(&ended, 1, left);
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

/// What the daemon of an unmounted mount with this device waits for.
std::string waits_for(const std::string& device) {
  const std::string keepers = holders_text(namespaces_with(device));
  return keepers.empty() ? "it still works"
                         : "another mount namespace (a container) keeps it: " + keepers;
}

/// The places where a mount with this device is seen, quoted; empty where there are none.
std::string places_of(const std::string& device) {
  const auto table = mount_table();
  std::string places;
  for (const MountEntry& entry : table ? *table : std::vector<MountEntry>{}) {
    if (entry.device == device && entry.type == kOwnType) {
      places += (places.empty() ? "" : ", ") + printable(entry.mountpoint);
    }
  }
  return places;
}

/// "0:53" -> "/sys/fs/fuse/connections/53/abort".
std::string abort_file(const std::string& device) {
  return "/sys/fs/fuse/connections/" + device.substr(device.find(':') + 1) + "/abort";
}

/// What could not be published, and is kept.
struct Left {
  std::string chunks;   ///< A line for each.
  bool local = true;    ///< It is beside the shards; else in the spool.
  bool ended = true;    ///< The daemon has, where that can be seen.
  std::string refused;  ///< Documents that were refused: a line for each.
};

/// One unmounting.
class Unmounting {
 public:
  Unmounting(const UmountCommand::Wishes& wishes, std::ostream& err) : wishes_(wishes), err_(err) {}

  /// Publishes what was written, unmounts and waits until the daemon has ended, where that can be
  /// seen.
  Result<Left> run(const std::string& mountpoint) {
    ZARRFS_TRY(place_, own_mount(mountpoint));
    ZARRFS_TRY(entry_, mount_at(place_));
    const bool answers = answers_in_time();
    const Fd daemon = answers ? watch_daemon(place_) : Fd();
    Left left;
    left.local = !entry_ || is_local(entry_->source);
    if (daemon.valid()) {
      static_cast<void>(publish_mount(place_));  // what this could not do is listed
      left.chunks = unpublished_of_mount(place_);
      left.refused = refused_of_mounts({place_}).front();
    }
    std::string holders;
    if (auto detached = detach(holders); !detached) {
      if (!answers) {
        detached.error().message +=
            ", and its daemon gives no answer: zarrfs umount -l detaches it; " + way_out();
      }
      return fail(detached.error());
    }
    if (wishes_.lazily && !holders.empty()) {
      say("detached " + printable(place_) + ", which goes on for " + holders +
          ": its daemon ends when they let go");
      return left;
    }
    const std::string others = entry_ ? places_of(entry_->device) : "";
    if (!others.empty()) {
      say("unmounted " + printable(place_) + "; its daemon goes on for " + others +
          ", where it is mounted, too: unmount that as well");
      return left;
    }
    if (answers) {
      left.ended = !daemon.valid() || wait_for_end(daemon);
    } else {
      left.ended = false;
      say("unmounted " + printable(place_) + ", whose daemon gives no answer: " + way_out());
    }
    return left;
  }

 private:
  /// One that was stopped never answers, and what it had to publish waits with it.
  bool answers_in_time() {
    const auto waits = [this](const std::string& line) { say(line); };
    const DaemonState state =
        wishes_.lazily ? daemon_state(place_) : await_daemon(place_, wishes_.time, waits);
    return state != DaemonState::kSilent;
  }

  [[nodiscard]] std::string way_out() const {
    return "writing 1 to " + abort_file(entry_ ? entry_->device : "") +
           " ends it, and fails what still waits there";
  }

  /// To look for holders goes through every process: done once where the mount is busy, and, as
  /// they cannot be found later, before a lazy detachment. Where nobody is seen, somebody may just
  /// be asking something of it, as monitors and other commands do: tried again for a while.
  Result<void> detach(std::string& holders) {
    if (wishes_.lazily) holders = holders_text(holders_of(place_));
    Result<void> done = unmount(place_, wishes_.lazily);
    const auto is_busy = [&] { return !done && done.error().fault == Fault::kBusy; };
    if (is_busy()) holders = holders_text(holders_of(place_));
    for (int tried = 0; is_busy() && holders.empty() && tried < kTries; ++tried) {
      std::this_thread::sleep_for(kBetweenTries);  // who asks lets go meanwhile
      done = unmount(place_, wishes_.lazily);
    }
    if (is_busy() && holders.empty()) holders = holders_text(holders_of(place_));
    if (is_busy() && !holders.empty()) done.error().message += " by " + holders;
    return done;
  }

  bool wait_for_end(const Fd& daemon) {
    const std::optional<std::chrono::milliseconds> time = wishes_.time;
    const std::chrono::milliseconds silent = time ? std::min(kSilentWait, *time) : kSilentWait;
    if (ends_within(daemon, silent)) return true;
    const std::string device = entry_ ? entry_->device : "";
    if (!time || *time > silent) {
      say("unmounted " + printable(place_) +
          ", and waiting for its daemon to end: " + waits_for(device));
      if (ends_within(daemon, time ? std::optional(*time - silent) : std::nullopt)) return true;
    }
    say("unmounted " + printable(place_) + ", but its daemon has not ended within " +
        std::to_string(time->count() / 1000) + " s: " + waits_for(device) + "; " + way_out());
    return false;
  }

  void say(const std::string& line) { err_ << "zarrfs: " << line << std::endl; }

  const UmountCommand::Wishes& wishes_;
  std::ostream& err_;
  std::string place_;
  std::optional<MountEntry> entry_;
};

}  // namespace

void UmountCommand::declare(CLI::App& app) {
  app.add_option("mountpoint", mountpoint_, "Where a store is mounted")
      ->type_name("MOUNTPOINT")
      ->required();
  app.add_flag("-l,--lazy", wishes_.lazily,
               "Detach it even if it is in use, and say who uses it; for them it stays");
  app.add_option("--timeout", seconds_,
                 "How long to wait until the daemon ends; then exit status " +
                     std::to_string(kNotEnded) + " [60; no limit on a terminal]")
      ->type_name("SECONDS")
      ->check(CLI::Range(std::uint64_t{0}, kLongestTimeout));
}

int UmountCommand::run(const Streams& streams) {
  const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
  if (seconds_ || !on_terminal) wishes_.time = std::chrono::seconds(seconds_.value_or(kTimeout));
  const auto done = Unmounting(wishes_, streams.err).run(mountpoint_);
  if (!done) {
    streams.err << "zarrfs: " << done.error().message << "\n";
    return kCouldNot;
  }
  if (!done->refused.empty()) {
    streams.err << "zarrfs: refused while it was mounted:\n" << done->refused;
  }
  if (!done->chunks.empty()) {
    streams.err << "zarrfs: unmounted, but not published, and kept "
                << (done->local ? "beside the shards:\n" : "in the spool:\n") << done->chunks;
    return kCouldNot;
  }
  return done->ended ? kGood : kNotEnded;
}

}  // namespace zarrfs
