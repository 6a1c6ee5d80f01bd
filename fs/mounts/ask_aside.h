// Asks what may never be answered, by processes of their own: whoever waits for the answer of a
// mount uses it, and may have to be ended; a thread cannot be. Thread-safe, but a process with
// threads that hold locks is not to be copied by fork(2).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

/// How long an answer is waited for; nothing: without end.
using Patience = std::optional<std::chrono::milliseconds>;

/// Runs in a process that has no descriptor but standard error, which is heard. Returns the exit
/// status.
using Question = std::function<int()>;
/// Says `text` in such a process; its exit status.
int say_aside(const std::string& text);

struct AsideAnswer {
  int status = 0;    ///< EIO if a signal ended it; an errno if there could be no such process.
  std::string said;  ///< On standard error: the first mebibyte.
};

/// The answers to `questions`, which are asked at once; nothing for those that have not ended in
/// time. Their processes are killed then, and left if they do not end even so, as those whose
/// request a daemon has begun with, and waits for something.
std::vector<std::optional<AsideAnswer>> ask_aside(const std::vector<Question>& questions,
                                                  Patience patience);

/// What waitpid(2) says of the child `process` that ends within `patience`; nothing if it does not.
std::optional<int> status_in_time(pid_t process, Patience patience);

}  // namespace zarrfs
