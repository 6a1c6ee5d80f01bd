#include "fs/umount_command.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ostream>

#include "core/base/fd.h"
#include "core/base/json.h"
#include "core/cli/exit_code.h"
#include "core/store/open_store.h"
#include "fs/mounts/holders.h"
#include "fs/mounts/mount_table.h"
#include "fs/options/option_values.h"
#include "fs/requests/front_end.h"
#include "fs/requests/publish.h"

namespace zarrfs {
namespace {

constexpr int kSilentWait = 5000;                                   // milliseconds
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

/// Whether the daemon ended within `milliseconds`; -1: waits until it does.
bool ends_within(const Fd& daemon, int milliseconds) {
  pollfd ended = {daemon.get(), POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&ended, 1, milliseconds);
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

void wait_for_end(const Fd& daemon, const std::string& place, std::ostream& err) {
  if (!daemon.valid() || ends_within(daemon, kSilentWait)) return;
  err << "zarrfs: unmounted " << printable(place)
      << ", and waiting for its daemon to end: another mount namespace (a container) keeps it\n";
  err.flush();
  static_cast<void>(ends_within(daemon, -1));
}

/// What could not be published, and is kept.
struct Left {
  std::string chunks;   ///< A line for each.
  bool local = true;    ///< It is beside the shards; else in the spool.
  std::string refused;  ///< Documents that were refused: a line for each.
};

/// Publishes what was written, unmounts and waits until the daemon has ended, where that can be
/// seen.
Result<Left> unmount_and_wait(const std::string& mountpoint, std::ostream& err) {
  ZARRFS_TRY(const std::string place, own_mount(mountpoint));
  const Fd daemon = watch_daemon(place);
  ZARRFS_TRY(const auto entry, mount_at(place));
  Left left;
  left.local = !entry || is_local(entry->source);
  if (daemon.valid()) {
    static_cast<void>(publish_mount(place));  // what this could not do is listed
    left.chunks = unpublished_of_mount(place);
  }
  left.refused = refused_of_mount(place);
  auto done = unmount(place, false);
  if (!done && done.error().fault == Fault::kBusy) {
    const std::string holders = holders_text(holders_of(place));
    if (!holders.empty()) done.error().message += " by " + holders;
  }
  ZARRFS_CHECK(done);
  wait_for_end(daemon, place, err);
  return left;
}

}  // namespace

void UmountCommand::declare(CLI::App& app) {
  app.add_option("mountpoint", mountpoint_, "Where a store is mounted")
      ->type_name("MOUNTPOINT")
      ->required();
}

int UmountCommand::run(const Streams& streams) {
  const auto done = unmount_and_wait(mountpoint_, streams.err);
  if (done && !done->refused.empty()) {
    streams.err << "zarrfs: refused while it was mounted:\n" << done->refused;
  }
  if (done && done->chunks.empty()) return 0;
  if (done) {
    streams.err << "zarrfs: unmounted, but not published, and kept "
                << (done->local ? "beside the shards:\n" : "in the spool:\n") << done->chunks;
    return kCouldNot;
  }
  streams.err << "zarrfs: " << done.error().message << "\n";
  return kCouldNot;
}

}  // namespace zarrfs
