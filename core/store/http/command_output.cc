#include "core/store/http/command_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "core/base/fd.h"
#include "core/base/request.h"

namespace zarrfs {
namespace {

constexpr std::chrono::milliseconds kBetweenOutputLooks{100};
constexpr std::size_t kMostOutput = std::size_t{64} << 10U;
using Clock = std::chrono::steady_clock;

/// Whether all of it was read in time, and somebody still waits for it.
bool read_all(int fd, std::string& text, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0 || text.size() > kMostOutput) return false;
    pollfd ready{fd, POLLIN, 0};
    const int count =
        ::poll(&ready, 1, static_cast<int>(std::min(left, kBetweenOutputLooks).count()));
    if (request_ended()) return false;
    if (count == 0 || (count < 0 && errno == EINTR)) continue;
    if (count < 0) return false;
    std::array<char, 4096> part{};
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<std::string> command_output(const std::string& command, const std::string& name,
                                   std::chrono::milliseconds patience) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error(errno, name));
  const Fd from(ends[0]);
  Fd to(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  std::string shell = "/bin/sh";
  std::string flag = "-c";
  std::string line = command;
  char* const arguments[] = {shell.data(), flag.data(), line.data(), nullptr};
  pid_t process = -1;
  const int error = ::posix_spawn(&process, "/bin/sh", &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  to = Fd();
  if (error != 0) return fail(system_error(error, name));
  std::string text;
  const bool whole = read_all(from.get(), text, Clock::now() + patience);
  if (!whole) ::kill(process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole) return fail(Fault::kDenied, name + " does not end, or prints too much");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(Fault::kDenied, name + " failed");
  }
  return text;
}

}  // namespace zarrfs
