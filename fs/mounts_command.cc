#include "fs/mounts_command.h"

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "fs/mounts/daemon_state.h"
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

/// Who else writes to the store of a mount with -o shared, by the mount's own counters; null of
/// other mounts, and where it does not tell.
Json others_of(const std::string& mountpoint) {
  const auto document = parse_json(statistics_of_mount(mountpoint), mountpoint);
  if (!document || !document->is_object() || !document->contains("shared")) return {};
  Json others = Json::array();
  for (const Json& other : (*document)["shared"].value("others", Json::array())) {
    if (other.is_object() && other.value("state", "") != "left") others.push_back(other);
  }
  return others;
}

/// What is wrong with the mount itself; empty where nothing is.
std::string trouble_of(DaemonState state) {
  switch (state) {
    case DaemonState::kAnswers: return "";
    case DaemonState::kGone: return std::string("its daemon ") + kHasEnded;
    case DaemonState::kSilent: break;
  }
  return "its daemon gives no answer";
}

std::string line_of(const Json& other) {
  std::string line = "process " + std::to_string(other.value("pid", std::uint64_t{0})) + " on " +
                     printable(other.value("host", ""));
  if (other.contains("since")) line += ", since " + printable(other.value("since", ""));
  if (other.contains("silent_seconds")) {
    const auto seconds = other.value("silent_seconds", std::int64_t{0});
    line += ", last sign of life " + std::to_string(seconds) + " s ago";
  }
  return line + ": " + printable(other.value("state", ""));
}
}  // namespace

void MountsCommand::declare(CLI::App& app) { app.add_flag("--json", json_, "One JSON document"); }

int MountsCommand::run(const Streams& streams) {
  auto all = mount_table();
  if (!all) {
    streams.err << "zarrfs: " << all.error().message << "\n";
    return kCouldNot;
  }
  std::erase_if(*all, [](const MountEntry& mount) { return mount.type != kOwnType; });
  std::vector<std::string> mountpoints;
  for (const MountEntry& mount : *all) mountpoints.push_back(mount.mountpoint);
  const std::vector<DaemonState> states = daemon_states(mountpoints);
  Json list = Json::array();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const MountEntry& mount = (*all)[i];
    const std::string trouble = trouble_of(states[i]);
    const bool answers = trouble.empty() && !mount.read_only;
    const std::string refused = answers ? refused_of_mount(mount.mountpoint) : "";
    const Json others = answers ? others_of(mount.mountpoint) : Json();
    Json told = {{"source", mount.source},
                 {"mountpoint", mount.mountpoint},
                 {"read_only", mount.read_only},
                 {"refused", lines_of(refused)}};
    if (others.is_array()) told["others"] = others;
    if (!trouble.empty()) told["trouble"] = trouble;
    list.push_back(std::move(told));
    if (json_) continue;
    streams.out << printable(mount.source) << " on " << printable(mount.mountpoint)
                << (mount.read_only ? " (read-only)\n" : "\n");
    if (!trouble.empty()) streams.out << "  " << trouble << "\n";
    for (const std::string& line : lines_of(refused)) streams.out << "  refused: " << line << "\n";
    for (const Json& other : others) streams.out << "  shared with " << line_of(other) << "\n";
  }
  if (json_) streams.out << dump_document(Json{{"mounts", std::move(list)}});
  return 0;
}

}  // namespace zarrfs
