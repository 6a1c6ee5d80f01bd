#include "fs/sync_command.h"

#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "fs/mounts/daemon_state.h"
#include "fs/mounts/mount_table.h"
#include "fs/requests/publish.h"

namespace zarrfs {

void SyncCommand::declare(CLI::App& app) {
  app.add_option("mountpoint", mountpoint_, "Where a store is mounted")
      ->type_name("MOUNTPOINT")
      ->required();
}

int SyncCommand::run(const Streams& streams) {
  const auto place = own_mount(mountpoint_);
  if (!place) {
    streams.err << "zarrfs: " << place.error().message << "\n";
    return kCouldNot;
  }
  if (daemon_state(*place) == DaemonState::kSilent) {
    streams.err << "zarrfs: the daemon of " << printable(*place)
                << " gives no answer: waiting for it" << std::endl;
  }
  const auto published = publish_mount(*place);
  if (!published) streams.err << "zarrfs: " << published.error().message << "\n";
  const std::string left = unpublished_of_mount(*place);
  if (!left.empty()) streams.err << "zarrfs: not published, and kept:\n" << left;
  return published && left.empty() ? 0 : kCouldNot;
}

}  // namespace zarrfs
