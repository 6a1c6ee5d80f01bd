#include "fs/mounts/daemon_state.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <thread>

#include "core/base/fd.h"

namespace zarrfs {
namespace {

constexpr int kIsGone = 1;

/// Whether the process ended within `patience`.
bool ends_in_time(pid_t process, Patience patience) {
  const Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd ended = {watched.get(), POLLIN, 0};
  return ::poll(&ended, 1, patience ? static_cast<int>(patience->count()) : -1) == 1;
}

}  // namespace

bool has_lost_daemon(const std::string& path) {
  struct statvfs space {};
  return ::statvfs(path.c_str(), &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

DaemonState daemon_state(const std::string& mountpoint, Patience patience) {
  // Who waits for an answer uses the mount. A process can be ended, a thread cannot.
  const pid_t asks = ::fork();
  if (asks == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(has_lost_daemon(mountpoint) ? kIsGone : 0);
  }
  if (asks < 0) return DaemonState::kAnswers;
  const bool late = !ends_in_time(asks, patience);
  if (late) ::kill(asks, SIGKILL);
  int status = 0;
  ::waitpid(asks, &status, 0);
  if (late) return DaemonState::kSilent;
  return WIFEXITED(status) && WEXITSTATUS(status) == kIsGone ? DaemonState::kGone
                                                             : DaemonState::kAnswers;
}

std::optional<std::string> asked_patiently(const std::function<std::string()>& ask) {
  auto told = std::make_shared<std::promise<std::string>>();
  auto answer = told->get_future();
  std::thread([told, ask] { told->set_value(ask()); }).detach();
  if (answer.wait_for(kAnswerPatience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace zarrfs
