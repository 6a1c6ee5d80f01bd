#include "fs/mounts/holders.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "core/base/printable.h"
#include "fs/mounts/mount_table.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostNamed = 5;

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

/// What the link at `path` names below `mountpoint`: "" for the mountpoint itself. Reading a link
/// does not follow it, so that nothing is asked of the mount.
std::optional<std::string> held_by_link(const std::string& path, const std::string& mountpoint) {
  std::error_code problem;
  const std::string target = std::filesystem::read_symlink(path, problem).string();
  if (problem || target.empty()) return std::nullopt;
  if (target == mountpoint) return "";
  const std::string prefix = mountpoint == "/" ? mountpoint : mountpoint + "/";
  if (!target.starts_with(prefix)) return std::nullopt;
  return target.substr(prefix.size());
}

std::optional<std::string> how_it_holds(const std::string& process, const std::string& mountpoint) {
  if (held_by_link(process + "/cwd", mountpoint)) return "working directory";
  for (const std::string& number : names_in(process + "/fd")) {
    const auto held = held_by_link(process + "/fd/" + number, mountpoint);
    if (held) return held->empty() ? "open directory" : "open file " + printable(*held);
  }
  if (held_by_link(process + "/exe", mountpoint)) return "running program";
  if (held_by_link(process + "/root", mountpoint)) return "root directory";
  for (const std::string& range : names_in(process + "/map_files")) {
    const auto held = held_by_link(process + "/map_files/" + range, mountpoint);
    if (held) return "mapped file " + printable(*held);
  }
  return std::nullopt;
}

struct Process {
  int number = 0;
  std::string path;  ///< Below `proc`.
};

/// By number.
std::vector<Process> processes_in(const std::string& proc) {
  std::vector<Process> processes;
  for (const std::string& name : names_in(proc)) {
    int number = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) continue;
    std::string path = proc;
    path.append("/").append(name);
    processes.push_back({number, std::move(path)});
  }
  std::sort(processes.begin(), processes.end(),
            [](const Process& a, const Process& b) { return a.number < b.number; });
  return processes;
}

std::string program_of(const std::string& path) {
  std::string program;
  std::getline(std::ifstream(path + "/comm"), program);
  return printable(program);
}

}  // namespace

std::vector<Holder> namespaces_with(const std::string& device, const std::string& proc) {
  std::vector<Holder> keepers;
  std::error_code problem;
  std::set<std::string> met{std::filesystem::read_symlink(proc + "/self/ns/mnt", problem).string()};
  for (const Process& one : processes_in(proc)) {
    const std::string space = std::filesystem::read_symlink(one.path + "/ns/mnt", problem).string();
    if (problem || !met.insert(space).second) continue;
    std::ifstream file(one.path + "/mountinfo");
    std::ostringstream text;
    text << file.rdbuf();
    const auto mounts = parse_mountinfo(text.str());
    const bool has = std::any_of(mounts.begin(), mounts.end(),
                                 [&](const MountEntry& mount) { return mount.device == device; });
    if (has) keepers.push_back({one.number, program_of(one.path), space});
  }
  return keepers;
}

std::vector<Holder> holders_of(const std::string& mountpoint, const std::string& proc) {
  std::vector<Holder> holders;
  for (const Process& one : processes_in(proc)) {
    auto how = how_it_holds(one.path, mountpoint);
    if (how) holders.push_back({one.number, program_of(one.path), std::move(*how)});
  }
  return holders;
}

std::string holders_text(const std::vector<Holder>& holders) {
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + holders[i].name + " (" + std::to_string(holders[i].process) +
            "): " + holders[i].how;
  }
  if (holders.size() > kMostNamed) {
    text += " and " + std::to_string(holders.size() - kMostNamed) + " more";
  }
  return text;
}

}  // namespace zarrfs
