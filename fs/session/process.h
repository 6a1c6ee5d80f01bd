// What a daemon does to its own process, and how a process started in the background tells the one
// that started it. One thread; before any other thread is started.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/fd.h"
#include "core/base/result.h"

namespace zarrfs {

/// Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed, so that nothing else
/// gets these numbers.
void fill_standard_descriptors();
/// The descriptors that `words` name: N of "/dev/fd/N" and "/proc/self/fd/N", anywhere in a word.
std::vector<int> descriptors_in(const std::vector<std::string>& words);
/// Closes all descriptors from 3 on but `kept`, which programs that this process starts do not get:
/// a daemon would hold the locks and pipes of the script that mounts.
void close_inherited(std::vector<int> kept);
/// The working directory is "/", which can always be entered: another one would keep its file
/// system busy.
void leave_working_directory();
/// Standard input, output and error lead to /dev/null from now on; the session is the process's
/// own.
void let_go_of_terminal();
/// Ignores SIGPIPE and SIGXFSZ; blocks SIGTERM, SIGINT, SIGHUP and SIGQUIT, which the descriptor
/// tells of from now on.
Result<Fd> take_signals();
/// The signal that `signals` (readable) tells of.
int next_signal(const Fd& signals);
/// Whether something can be read from it: a signal that next_signal() has not taken.
bool is_readable(const Fd& descriptor);

/// How a background process says that it is ready.
class Readiness {
 public:
  Readiness() = default;
  explicit Readiness(Fd to_parent) : to_parent_(std::move(to_parent)) {}
  /// Whether somebody waits.
  [[nodiscard]] bool awaited() const { return to_parent_.valid(); }
  /// Whether somebody waited, and was killed.
  [[nodiscard]] bool abandoned() const;
  /// The process that waits exits now, with status 0. Only the first call does anything.
  void tell();

 private:
  Fd to_parent_;
};

/// Runs `body` in a new process and waits until it tells that it is ready or ends. In the new
/// process returns what `body` returns; in the calling one 0, or the new one's exit status. The new
/// process is in the caller's process group: autofs lets only that of systemd mount while others
/// wait.
int run_in_background(const std::function<int(Readiness)>& body, std::ostream& err);

}  // namespace zarrfs
