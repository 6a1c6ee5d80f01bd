#include "fs/mounts/daemon_state.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <thread>

#include "core/base/fd.h"

namespace zarrfs {
namespace {

constexpr int kIsGone = 1;
constexpr std::chrono::milliseconds kEndPatience{500};

/// What waitpid(2) says of a process that ends within `patience`; nothing if it does not.
std::optional<int> status_in_time(pid_t process, Patience patience) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::milliseconds;
  constexpr milliseconds kLongest{std::chrono::minutes(1)};  // between two looks
  constexpr milliseconds kWithoutDescriptor{10};
  const Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  const auto begin = Clock::now();
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    milliseconds left = watched.valid() ? kLongest : kWithoutDescriptor;
    if (patience) {
      const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
      if (passed >= *patience) return std::nullopt;
      left = std::min(left, *patience - passed);
    }
    pollfd end = {watched.get(), POLLIN, 0};
    ::poll(&end, watched.valid() ? 1 : 0, static_cast<int>(left.count()));
  }
}

/// So that nobody waits for the end of a pipe for as long as a process waits here.
void close_all_descriptors() {
  if (::syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) ::close(descriptor);
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
    close_all_descriptors();
    ::_exit(has_lost_daemon(mountpoint) ? kIsGone : 0);
  }
  if (asks < 0) return DaemonState::kAnswers;
  const auto status = status_in_time(asks, patience);
  if (!status) {
    ::kill(asks, SIGKILL);
    // It does not end where the daemon has begun with what it asked for, and waits for its store.
    static_cast<void>(status_in_time(asks, kEndPatience));
    return DaemonState::kSilent;
  }
  return WIFEXITED(*status) && WEXITSTATUS(*status) == kIsGone ? DaemonState::kGone
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
