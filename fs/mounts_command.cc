#include "fs/mounts_command.h"

#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "fs/mounts/mount_table.h"
#include "fs/requests/publish.h"

namespace zarrfs {

namespace {
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}
}  // namespace

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
    const std::string refused = mount.read_only ? "" : refused_of_mount(mount.mountpoint);
    list.push_back({{"source", mount.source},
                    {"mountpoint", mount.mountpoint},
                    {"read_only", mount.read_only},
                    {"refused", lines_of(refused)}});
    if (json_) continue;
    streams.out << printable(mount.source) << " on " << printable(mount.mountpoint)
                << (mount.read_only ? " (read-only)\n" : "\n");
    for (const std::string& line : lines_of(refused)) streams.out << "  refused: " << line << "\n";
  }
  if (json_) streams.out << dump_document(Json{{"mounts", std::move(list)}});
  return 0;
}

}  // namespace zarrfs
