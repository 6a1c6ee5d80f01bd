#include "fs/mounts_command.h"

#include <ostream>

#include "core/base/json.h"
#include "core/cli/exit_code.h"
#include "fs/mounts/mount_table.h"

namespace zarrfs {

void MountsCommand::declare(CLI::App& app) { app.add_flag("--json", json_, "One JSON document"); }

int MountsCommand::run(const Streams& streams) {
  const auto all = mount_table();
  if (!all) {
    streams.err << "zarrfs: " << all.error().message << "\n";
    return kCouldNot;
  }
  Json list = Json::array();
  for (const MountEntry& mount : *all) {
    if (mount.type != kOwnType) continue;
    list.push_back({{"source", mount.source},
                    {"mountpoint", mount.mountpoint},
                    {"read_only", mount.read_only}});
    if (json_) continue;
    streams.out << printable(mount.source) << " on " << printable(mount.mountpoint)
                << (mount.read_only ? " (read-only)\n" : "\n");
  }
  if (json_) streams.out << dump_document(Json{{"mounts", std::move(list)}});
  return 0;
}

}  // namespace zarrfs
