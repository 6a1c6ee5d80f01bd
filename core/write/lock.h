// One writer a store: an advisory lock on the store's root directory, which needs no file in the
// store. Thread-safe.
#pragma once

#include "core/base/fd.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

/// Takes the store's lock; it is held until the descriptor is closed. kBusy, naming the holder's
/// process where the system knows it, where another program has it.
Result<Fd> lock_store(Store& store);

}  // namespace zarrfs
