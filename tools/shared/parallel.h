// Independent pieces of work on several threads.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"

namespace zarrfs::tools {

/// Threads to use where the user gave none: one for each processor, at most 16.
unsigned default_threads();

/// Calls `work(i)` once for each i below `count`, in no set order, on `threads` threads (the
/// caller's among them). Ends early at the first error, which is returned, and at Ctrl-C
/// (interruption()). `work` is called from several threads at once.
Result<void> parallel_for(std::uint64_t count, unsigned threads,
                          const std::function<Result<void>(std::uint64_t)>& work);

}  // namespace zarrfs::tools
