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

/// What is left of a time that begins with this.
class TimeLeft {
 public:
  explicit TimeLeft(Patience patience) : patience_(patience) {}

  [[nodiscard]] Patience now() const {
    using std::chrono::milliseconds;
    if (!patience_) return std::nullopt;
    const auto passed = std::chrono::steady_clock::now() - begin_;
    return std::max(milliseconds(0), *patience_ - std::chrono::floor<milliseconds>(passed));
  }

 private:
  Patience patience_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// What waitpid(2) says of a process that ends within `patience`; nothing if it does not.
std::optional<int> status_in_time(pid_t process, Patience patience) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongest{std::chrono::minutes(1)};  // between two looks
  constexpr milliseconds kWithoutDescriptor{10};
  const Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  const TimeLeft left(patience);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    milliseconds pause = watched.valid() ? kLongest : kWithoutDescriptor;
    if (const Patience remains = left.now()) {
      if (remains->count() == 0) return std::nullopt;
      pause = std::min(pause, *remains);
    }
    pollfd end = {watched.get(), POLLIN, 0};
    ::poll(&end, watched.valid() ? 1 : 0, static_cast<int>(pause.count()));
  }
}

/// So that nobody waits for the end of a pipe for as long as a process waits here.
void close_all_descriptors() {
  if (::syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) ::close(descriptor);
}

/// Asks whether the daemon of `mountpoint` is there, in a process of its own: who waits for an
/// answer uses the mount, and a process can be ended, a thread cannot. -1 if there can be none.
pid_t ask_aside(const std::string& mountpoint) {
  const pid_t asks = ::fork();
  if (asks != 0) return asks;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_all_descriptors();
  ::_exit(has_lost_daemon(mountpoint) ? kIsGone : 0);
}

/// By what waitpid(2) says of the process that asked.
DaemonState state_of(std::optional<int> status) {
  if (!status) return DaemonState::kSilent;
  const bool gone = WIFEXITED(*status) && WEXITSTATUS(*status) == kIsGone;
  return gone ? DaemonState::kGone : DaemonState::kAnswers;
}

}  // namespace

bool has_lost_daemon(const std::string& path) {
  struct statvfs space {};
  return ::statvfs(path.c_str(), &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

DaemonState daemon_state(const std::string& mountpoint, Patience patience) {
  return daemon_states({mountpoint}, patience).front();
}

std::vector<DaemonState> daemon_states(const std::vector<std::string>& mountpoints,
                                       Patience patience) {
  std::vector<pid_t> asking;
  asking.reserve(mountpoints.size());
  for (const std::string& mountpoint : mountpoints) asking.push_back(ask_aside(mountpoint));
  std::vector<DaemonState> states;
  std::vector<pid_t> silent;
  const TimeLeft left(patience);
  for (const pid_t asks : asking) {
    const auto status = asks < 0 ? std::optional<int>(0) : status_in_time(asks, left.now());
    states.push_back(state_of(status));
    if (status) continue;
    ::kill(asks, SIGKILL);
    silent.push_back(asks);
  }
  // They do not end if the daemon has begun with what it was asked, and waits for something.
  const TimeLeft left_for_ends(kEndPatience);
  for (const pid_t asks : silent) {
    static_cast<void>(status_in_time(asks, left_for_ends.now()));
  }
  return states;
}

std::optional<std::string> asked_patiently(const std::function<std::string()>& ask) {
  auto told = std::make_shared<std::promise<std::string>>();
  auto answer = told->get_future();
  std::thread([told, ask] { told->set_value(ask()); }).detach();
  if (answer.wait_for(kAnswerPatience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace zarrfs
