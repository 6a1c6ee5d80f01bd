#include "fs/sync_command.h"

#include "core/cli/exit_code.h"
#include "fs/mounts/mount_table.h"
#include "fs/mounts/mountpoint.h"
#include "fs/requests/publish.h"

namespace zarrfs {

void SyncCommand::declare(CLI::App& app) {
  app.add_option("mountpoint", mountpoint_, "Where a store is mounted")
      ->type_name("MOUNTPOINT")
      ->required();
}

int SyncCommand::run(const Streams& streams) {
  const auto say = [&](const std::string& line) { streams.err << "zarrfs: " << line << std::endl; };
  const auto place = own_mount(mountpoint_);
  if (!place) {
    say(place.error().message);
    return kCouldNot;
  }
  if (const auto answers = check_answers(*place, say); !answers) {
    say(answers.error().message);
    return kCouldNot;
  }
  const auto published = publish_mount(*place);
  if (!published) say(published.error().message);
  const std::string left = unpublished_of_mount(*place);
  if (!left.empty()) streams.err << "zarrfs: not published, and kept:\n" << left;
  return published && left.empty() ? 0 : kCouldNot;
}

}  // namespace zarrfs
