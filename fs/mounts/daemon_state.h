// Whether the daemon of a mount lives and answers. As thread-safe as ask_aside.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fs/mounts/ask_aside.h"

namespace zarrfs {

enum class DaemonState {
  kAnswers,
  kGone,    ///< It has ended; the mount is still there.
  kSilent,  ///< No answer in time: it was stopped, or waits for something.
};

/// What a daemon that is kGone did, and what is to be done, for the user.
inline constexpr const char* kHasEnded =
    "has ended, and programs get errors there: zarrfs umount it, and mount it again";

inline constexpr std::chrono::milliseconds kAnswerPatience{2000};

/// Whether the file system at `path` has lost its daemon. Waits as long as one that is silent. Asks
/// for its space: the kernel answers for attributes from its cache for a while after the daemon's
/// death.
bool has_lost_daemon(const std::string& path);
/// The same of a mount of zarrfs, in time.
DaemonState daemon_state(const std::string& mountpoint, Patience patience = kAnswerPatience);

/// The same; says on `say` that it waits if no answer came in kAnswerPatience, and waits for
/// `more`.
DaemonState await_daemon(const std::string& mountpoint, Patience more,
                         const std::function<void(const std::string&)>& say);

/// The same as daemon_state of several, which are asked at once: takes no longer than of one.
std::vector<DaemonState> daemon_states(const std::vector<std::string>& mountpoints,
                                       Patience patience = kAnswerPatience);

}  // namespace zarrfs
