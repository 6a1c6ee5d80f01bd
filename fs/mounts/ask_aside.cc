#include "fs/mounts/ask_aside.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/fd.h"
#include "core/base/result.h"

namespace zarrfs {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kEndPatience{500};
constexpr milliseconds kLongestPause{std::chrono::minutes(1)};  // between two looks
constexpr std::size_t kMostSaid = std::size_t{1} << 20U;

/// What is left of a time that begins with this.
class TimeLeft {
 public:
  explicit TimeLeft(Patience patience) : patience_(patience) {}

  [[nodiscard]] Patience now() const {
    if (!patience_) return std::nullopt;
    const auto passed = std::chrono::steady_clock::now() - begin_;
    return std::max(milliseconds(0), *patience_ - std::chrono::floor<milliseconds>(passed));
  }

 private:
  Patience patience_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A question that is being asked.
struct Asking {
  pid_t process = -1;
  Fd says;  ///< Until it ends.
  AsideAnswer answer;
};

/// Nobody else waits for the end of a pipe for as long as this process waits for a mount.
void keep_no_descriptor_but(const Fd& says) {
  ::dup2(says.get(), STDERR_FILENO);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  static_cast<void>(::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U));
}

Asking not_asked(int problem) {
  Asking asking;
  asking.answer = {problem, system_error(problem, "starting a process").message};
  return asking;
}

Asking begin(const Question& question) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return not_asked(errno);
  Asking asking;
  asking.says = Fd(ends[0]);
  const Fd to(ends[1]);
  asking.process = ::fork();
  if (asking.process < 0) return not_asked(errno);
  if (asking.process > 0) return asking;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  keep_no_descriptor_but(to);
  ::_exit(question());
}

/// Reads what it has said; closes at its end.
void hear(Asking& asking) {
  std::array<char, 4096> part{};
  const ssize_t got = ::read(asking.says.get(), part.data(), part.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    asking.says = Fd();
    return;
  }
  std::string& said = asking.answer.said;
  said.append(part.data(), std::min(static_cast<std::size_t>(got), kMostSaid - said.size()));
}

/// Hears all until the last has ended, or time is over.
void hear_all(std::vector<Asking>& all, const TimeLeft& left) {
  for (;;) {
    std::vector<pollfd> waited;
    std::vector<Asking*> whose;
    for (Asking& asking : all) {
      if (!asking.says.valid()) continue;
      waited.push_back({asking.says.get(), POLLIN, 0});
      whose.push_back(&asking);
    }
    const milliseconds pause = std::min(left.now().value_or(kLongestPause), kLongestPause);
    if (waited.empty() || pause.count() == 0) return;
    if (::poll(waited.data(), waited.size(), static_cast<int>(pause.count())) <= 0) continue;
    for (std::size_t i = 0; i < waited.size(); ++i) {
      if (waited[i].revents != 0) hear(*whose[i]);
    }
  }
}

}  // namespace

int say_aside(const std::string& text) {
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = ::write(STDERR_FILENO, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return EIO;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::optional<int> status_in_time(pid_t process, Patience patience) {
  constexpr milliseconds kWithoutDescriptor{10};
  const Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  const TimeLeft left(patience);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    milliseconds pause = watched.valid() ? kLongestPause : kWithoutDescriptor;
    if (const Patience remains = left.now()) {
      if (remains->count() == 0) return std::nullopt;
      pause = std::min(pause, *remains);
    }
    pollfd end = {watched.get(), POLLIN, 0};
    ::poll(&end, watched.valid() ? 1 : 0, static_cast<int>(pause.count()));
  }
}

std::vector<std::optional<AsideAnswer>> ask_aside(const std::vector<Question>& questions,
                                                  Patience patience) {
  const TimeLeft left(patience);
  std::vector<Asking> all;
  all.reserve(questions.size());
  for (const Question& question : questions) all.push_back(begin(question));
  hear_all(all, left);
  std::vector<std::optional<AsideAnswer>> answers;
  std::vector<pid_t> silent;
  for (Asking& asking : all) {
    if (asking.process > 0) {
      const auto status = status_in_time(asking.process, left.now());
      if (!status) {
        ::kill(asking.process, SIGKILL);
        silent.push_back(asking.process);
        answers.emplace_back(std::nullopt);
        continue;
      }
      asking.answer.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : EIO;
    }
    answers.emplace_back(std::move(asking.answer));
  }
  const TimeLeft left_for_ends(kEndPatience);
  for (const pid_t process : silent) {
    static_cast<void>(status_in_time(process, left_for_ends.now()));
  }
  return answers;
}

}  // namespace zarrfs
