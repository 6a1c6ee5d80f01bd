#include "fs/session/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "core/cli/exit_code.h"

namespace zarrfs {
namespace {

int wait_for_exit(pid_t child, std::ostream& err) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kCouldNot;
  }
  if (WIFSIGNALED(status)) {
    err << "zarrfs: the daemon was ended by signal " << WTERMSIG(status) << "\n";
    return kCouldNot;
  }
  return WEXITSTATUS(status);
}

/// Whether the other end said it is ready, rather than being closed.
bool hears_ready(const Fd& from_child) {
  char ready = 0;
  ssize_t got = 0;
  do {
    got = ::read(from_child.get(), &ready, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

/// The number that `text` begins with.
std::optional<int> leading_number(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

/// Closes the descriptors from `first` to `last`; false where the kernel has no such call (before
/// Linux 5.9).
bool close_between(int first, unsigned last) {
  return ::syscall(SYS_close_range, static_cast<unsigned>(first), last, 0U) == 0;
}

/// The same by the names of those that are open.
void close_listed(int first, unsigned last) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return;
  std::vector<int> open;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto number = leading_number(entry->d_name);
    const bool meant = number && *number >= first && static_cast<unsigned>(*number) <= last;
    if (meant && *number != ::dirfd(folder.get())) open.push_back(*number);
  }
  for (const int number : open) ::close(number);
}

}  // namespace

void fill_standard_descriptors() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

std::vector<int> descriptors_in(const std::vector<std::string>& words) {
  std::vector<int> found;
  for (const std::string_view word : words) {
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
      for (std::size_t at = word.find(folder); at != std::string_view::npos;
           at = word.find(folder, at + 1)) {
        const auto number = leading_number(word.substr(at + folder.size()));
        if (number) found.push_back(*number);
      }
    }
  }
  return found;
}

void close_inherited(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  int first = STDERR_FILENO + 1;
  const auto close_up_to = [&first](unsigned last) {
    if (static_cast<unsigned>(first) > last) return;
    if (!close_between(first, last)) close_listed(first, last);
  };
  for (const int number : kept) {
    if (number < first || ::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) continue;
    close_up_to(static_cast<unsigned>(number) - 1);
    first = number + 1;
  }
  close_up_to(std::numeric_limits<unsigned>::max());
}

void leave_working_directory() {
  if (::chdir("/") != 0) return;
}

void let_go_of_terminal() {
  ::setsid();
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (nothing.valid()) ::dup2(nothing.get(), number);
  }
}

Result<Fd> take_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  Fd descriptor(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!descriptor.valid()) return fail(system_error(errno, "receiving signals"));
  return descriptor;
}

int next_signal(const Fd& signals) {
  signalfd_siginfo info{};
  if (::read(signals.get(), &info, sizeof info) != sizeof info) return 0;
  return static_cast<int>(info.ssi_signo);
}

bool is_readable(const Fd& descriptor) {
  pollfd ready = {descriptor.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) > 0;
}

bool Readiness::abandoned() const {
  pollfd waiting = {to_parent_.get(), 0, 0};
  return awaited() && ::poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLERR) != 0;
}

void Readiness::tell() {
  if (!to_parent_.valid()) return;
  const char ready = 1;
  ssize_t put = 0;
  do {
    put = ::write(to_parent_.get(), &ready, 1);
  } while (put < 0 && errno == EINTR);
  to_parent_ = Fd();
}

int run_in_background(const std::function<int(Readiness)>& body, std::ostream& err) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    err << "zarrfs: " << system_error(errno, "starting the daemon").message << "\n";
    return kCouldNot;
  }
  Fd from_child(ends[0]);
  Fd to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    err << "zarrfs: " << system_error(errno, "starting the daemon").message << "\n";
    return kCouldNot;
  }
  if (child == 0) {
    from_child = Fd();
    return body(Readiness(std::move(to_parent)));
  }
  to_parent = Fd();
  return hears_ready(from_child) ? 0 : wait_for_exit(child, err);
}

}  // namespace zarrfs
