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
Json others_of(const std::string& statistics) {
  const auto document = parse_json(statistics, "the counters");
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

/// A mount, and what it tells.
struct Seen {
  MountEntry mount;
  DaemonState state;
  std::string refused;     ///< Documents, a line for each.
  std::string statistics;  ///< Empty of those that only read.
};

/// All mounts of zarrfs, which are asked at once.
Result<std::vector<Seen>> all_seen() {
  ZARRFS_TRY(auto all, mount_table());
  std::erase_if(all, [](const MountEntry& mount) { return mount.type != kOwnType; });
  std::vector<std::string> mountpoints;
  for (const MountEntry& mount : all) mountpoints.push_back(mount.mountpoint);
  const std::vector<DaemonState> states = daemon_states(mountpoints);
  std::vector<Seen> seen;
  std::vector<Seen*> writing;
  seen.reserve(all.size());
  mountpoints.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    seen.push_back({std::move(all[i]), states[i], "", ""});
    if (states[i] != DaemonState::kAnswers || seen[i].mount.read_only) continue;
    writing.push_back(&seen[i]);
    mountpoints.push_back(seen[i].mount.mountpoint);
  }
  std::vector<std::string> refused = refused_of_mounts(mountpoints);
  std::vector<std::string> statistics = statistics_of_mounts(mountpoints);
  for (std::size_t i = 0; i < writing.size(); ++i) {
    writing[i]->refused = std::move(refused[i]);
    writing[i]->statistics = std::move(statistics[i]);
  }
  return seen;
}
}  // namespace

void MountsCommand::declare(CLI::App& app) { app.add_flag("--json", json_, "One JSON document"); }

int MountsCommand::run(const Streams& streams) {
  auto all = all_seen();
  if (!all) {
    streams.err << "zarrfs: " << all.error().message << "\n";
    return kCouldNot;
  }
  Json list = Json::array();
  for (const Seen& seen : *all) {
    const MountEntry& mount = seen.mount;
    const std::string trouble = trouble_of(seen.state);
    const Json others = others_of(seen.statistics);
    Json told = {{"source", mount.source},
                 {"mountpoint", mount.mountpoint},
                 {"read_only", mount.read_only},
                 {"refused", lines_of(seen.refused)}};
    if (others.is_array()) told["others"] = others;
    if (!trouble.empty()) told["trouble"] = trouble;
    list.push_back(std::move(told));
    if (json_) continue;
    streams.out << printable(mount.source) << " on " << printable(mount.mountpoint)
                << (mount.read_only ? " (read-only)\n" : "\n");
    if (!trouble.empty()) streams.out << "  " << trouble << "\n";
    for (const std::string& line : lines_of(seen.refused)) {
      streams.out << "  refused: " << line << "\n";
    }
    for (const Json& other : others) streams.out << "  shared with " << line_of(other) << "\n";
  }
  if (json_) streams.out << dump_document(Json{{"mounts", std::move(list)}});
  return 0;
}

}  // namespace zarrfs
