#include "fs/mounts/daemon_state.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr int kIsGone = 1;

DaemonState state_of(const std::optional<AsideAnswer>& answer) {
  if (!answer) return DaemonState::kSilent;
  return answer->status == kIsGone ? DaemonState::kGone : DaemonState::kAnswers;
}

}  // namespace

bool has_lost_daemon(const std::string& path) {
  struct statvfs space {};
  return ::statvfs(path.c_str(), &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

DaemonState daemon_state(const std::string& mountpoint, Patience patience) {
  return daemon_states({mountpoint}, patience).front();
}

DaemonState await_daemon(const std::string& mountpoint, Patience more,
                         const std::function<void(const std::string&)>& say) {
  const DaemonState state = daemon_state(mountpoint);
  if (state != DaemonState::kSilent) return state;
  say("the daemon of " + printable(mountpoint) + " gives no answer: waiting for it");
  return daemon_state(mountpoint, more);
}

std::vector<DaemonState> daemon_states(const std::vector<std::string>& mountpoints,
                                       Patience patience) {
  std::vector<Question> questions;
  questions.reserve(mountpoints.size());
  for (const std::string& mountpoint : mountpoints) {
    questions.emplace_back([&mountpoint] { return has_lost_daemon(mountpoint) ? kIsGone : 0; });
  }
  std::vector<DaemonState> states;
  for (const auto& answer : ask_aside(questions, patience)) states.push_back(state_of(answer));
  return states;
}

}  // namespace zarrfs
