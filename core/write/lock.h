// One writer a store: an advisory lock on the store's root directory, which needs no file in the
// store. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/fd.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

/// Takes the store's lock; it is held until the descriptor is closed. kBusy, naming the holder's
/// process where the system knows it, where another program has it.
Result<Fd> lock_store(Store& store);

/// What a file system with this magic number (statfs(2)) is called where several machines write to
/// it at a time, so that a lock of one may not hold on another; empty where it is none of these.
std::string cluster_file_system(std::uint64_t magic);

/// The same for the file system of the store's root.
Result<std::string> cluster_file_system_of(Store& store);

}  // namespace zarrfs
