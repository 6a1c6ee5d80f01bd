// The signal that wakes a thread which waits for a request, and does nothing else. Thread-safe.
#pragma once

#include <pthread.h>

namespace zarrfs {

/// Without SA_RESTART, so that what waits returns.
void install_wake_signal();

/// Signals are for the main thread, but for the one that wakes, and faults.
void block_other_signals();

/// A signal that comes just before a thread waits is lost: it is to be repeated.
void wake(pthread_t thread);

}  // namespace zarrfs
