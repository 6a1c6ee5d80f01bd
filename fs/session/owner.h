// The process that a mount ends with. Thread-safe: nothing of it changes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/base/fd.h"
#include "core/base/result.h"

namespace zarrfs {

/// A descriptor that becomes readable when the process ends. kInvalid where there is none of this
/// number, or it began later than this process: then it is not the one that was meant, and has its
/// number since that has ended. Called by the process that was given the number, before it forks.
Result<Fd> watch_owner(pid_t process);

/// When a process began, in ticks since the machine did. `folder`: its own, "/proc/PID".
/// Source: proc_pid_stat(5), starttime.
Result<std::uint64_t> start_of_process(const std::string& folder);

}  // namespace zarrfs
