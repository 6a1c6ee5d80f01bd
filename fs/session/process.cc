#include "fs/session/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

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

}  // namespace

void fill_standard_descriptors() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

void let_go_of_terminal() {
  ::setsid();
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (nothing.valid()) ::dup2(nothing.get(), number);
  }
  // A working directory elsewhere would keep that file system busy. "/" can always be entered.
  if (::chdir("/") != 0) return;
}

Result<Fd> take_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
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

bool has_signal(const Fd& signals) {
  pollfd ready = {signals.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) > 0;
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
