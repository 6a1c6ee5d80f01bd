// What an interrupt of the kernel means: see core/base/pending_signals.h. The kernel sends one for
// a request, whatever comes after: so the signals are looked at as long as there is no answer.
#pragma once

#include "fs/requests/fuse.h"

namespace zarrfs {

/// Whether the program that made `request` is to end, or was asked to end its work, since it has
/// made it. Of requests that were not interrupted this costs next to nothing; of others it reads
/// /proc, 20 times a second at most for each thread that asks. Thread-safe.
bool is_interrupted(fuse_req_t request);

}  // namespace zarrfs
