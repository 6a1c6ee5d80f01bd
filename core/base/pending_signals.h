// What waits for a program that waits for an answer. The kernel interrupts a request for any
// signal, and for a moment's stop (SIGSTOP, the freezer of control groups, a system that goes to
// sleep). On a disk none of these is seen by read(2) or mkdir(2), and programs do not expect it.
#pragma once

#include <sys/types.h>

namespace zarrfs {

/// Whether the thread `task` ends, has ended, or was asked to end its work: a signal waits for it
/// that ends a process, or SIGHUP, SIGINT, SIGQUIT or SIGTERM, which programs that handle them take
/// for that. True where nothing is known of it: it has ended, or is of another process namespace
/// (0). Thread-safe. `folder`: where the processes are told of.
/// Source: proc(5), /proc/PID/status; signal(7).
bool is_told_to_end(pid_t task, const char* folder = "/proc");

}  // namespace zarrfs
