// The checks that ask other processes: they run in a process of their own and are given up after a
// while, because whoever asks a hanging mount hangs with it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "core/base/result.h"
#include "fs/doctor/doctor.h"
#include "fs/mounts/ask_aside.h"
#include "fs/mounts/daemon_state.h"
#include "fs/mounts/mount_table.h"
#include "fs/requests/fuse.h"

namespace zarrfs {
namespace {

constexpr std::chrono::milliseconds kTrialPatience{5000};
constexpr std::size_t kMostSaid = 2000;
constexpr std::size_t kMostLeftNamed = 5;

std::string in_one_line(std::string text) {
  text.resize(std::min(text.size(), kMostSaid));
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (text.ends_with(' ')) text.pop_back();
  return printable(text);
}

/// The kernel's first request tells what it can do.
void on_trial_init(void*, fuse_conn_info* connection) {
  const std::array<std::pair<unsigned, const char*>, 6> features = {{
      {FUSE_CAP_READDIRPLUS, "readdirplus"},
      {FUSE_CAP_PARALLEL_DIROPS, "parallel lookups"},
      {FUSE_CAP_ASYNC_READ, "parallel reads"},
      {FUSE_CAP_SPLICE_WRITE, "splice"},
      {FUSE_CAP_EXPLICIT_INVAL_DATA, "explicit invalidation"},
      {FUSE_CAP_WRITEBACK_CACHE, "write-back"},
  }};
  std::string text = "FUSE protocol " + std::to_string(connection->proto_major) + "." +
                     std::to_string(connection->proto_minor);
  for (const auto& [flag, name] : features) {
    if ((connection->capable & flag) != 0) text += std::string(", ") + name;
  }
  static_cast<void>(say_aside(text));
}

/// Mounts on `folder`, answers the kernel's first request, and unmounts.
int mount_for_a_moment(const std::string& folder) {
  std::array<std::string, 3> words = {"zarrfs", "-o", "fsname=zarrfs-doctor,subtype=zarrfs,ro"};
  std::array<char*, 3> argv = {words[0].data(), words[1].data(), words[2].data()};
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  fuse_lowlevel_ops operations{};
  operations.init = on_trial_init;
  fuse_session* session = ::fuse_session_new(&args, &operations, sizeof operations, nullptr);
  ::fuse_opt_free_args(&args);
  if (session == nullptr) return EIO;
  int status = EIO;
  if (::fuse_session_mount(session, folder.c_str()) == 0) {
    fuse_buf request{};
    if (::fuse_session_receive_buf(session, &request) > 0) {
      ::fuse_session_process_buf(session, &request);
      status = 0;
    }
    std::free(request.mem);
    ::fuse_session_unmount(session);
  }
  ::fuse_session_destroy(session);
  return status;
}

/// The last few of `names`, the last first.
std::string latest(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), kMostLeftNamed);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : ", ") + names[names.size() - 1 - i];
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

}  // namespace

Finding look_at_trial(const Machine& machine) {
  std::string folder = machine.temporary + "/zarrfs-doctor-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return {Verdict::kWrong, system_error(errno, "a folder in " + machine.temporary).message};
  }
  const auto answer =
      ask_aside({[&folder] { return mount_for_a_moment(folder); }}, kTrialPatience).front();
  while (::rmdir(folder.c_str()) != 0 && errno == EBUSY && unmount(folder, true)) {
  }
  if (!answer) return {Verdict::kWrong, "mounting on " + folder + " does not end"};
  const std::string said = in_one_line(answer->said);
  if (answer->status == 0) return {Verdict::kGood, "mounted and unmounted; " + said};
  return {Verdict::kWrong, "mounting on " + folder + " failed: " + said};
}

Finding look_at_mounts(const Machine& machine) {
  std::ifstream file(machine.root + "/proc/self/mountinfo");
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return {Verdict::kWrong, "could not read mountinfo"};
  std::vector<std::string> mountpoints;
  for (MountEntry& entry : parse_mountinfo(text.str())) {
    if (entry.type == kOwnType) mountpoints.push_back(std::move(entry.mountpoint));
  }
  const auto states = daemon_states(mountpoints, kTrialPatience);
  std::vector<std::string> dead;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] == DaemonState::kAnswers) continue;
    const bool gone = states[i] == DaemonState::kGone;
    dead.push_back(printable(mountpoints[i]) +
                   (gone ? " (its daemon is gone)" : " (does not answer)"));
  }
  if (dead.empty()) {
    return {Verdict::kGood,
            "mounts of zarrfs: " + std::to_string(mountpoints.size()) + ", none dead"};
  }
  return {Verdict::kWrong, latest(dead)};
}

}  // namespace zarrfs
