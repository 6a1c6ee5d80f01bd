// What writers of one object or shard do whose put came second: they try again. Thread-safe.
#pragma once

namespace zarrfs {

/// Waits before try `round` + 1, by chance, and longer each time: writers that come at the same
/// moment again and again would all but one lose each time.
void let_others_finish(int round);

}  // namespace zarrfs
