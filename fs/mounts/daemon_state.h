// Whether the daemon of a mount lives and answers. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace zarrfs {

enum class DaemonState {
  kAnswers,
  kGone,    ///< It has ended; the mount is still there.
  kSilent,  ///< No answer within two seconds: it was stopped, or waits for something.
};

/// Asks the mount for its space: the kernel answers for attributes from its cache for a while after
/// the daemon's death.
DaemonState daemon_state(const std::string& mountpoint);

/// What `ask` returns, or nothing if it takes more than two seconds. `ask` then goes on in a thread
/// of its own, and may do so for as long as the process lives.
std::optional<std::string> asked_patiently(const std::function<std::string()>& ask);

}  // namespace zarrfs
