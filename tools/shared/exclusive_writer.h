// The exclusive writer lock of a store, for commands. Source: core/log/lock.h. Thread-safe.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/log/lock.h"

namespace zarrfs::tools {

/// Whether the store in `directory` has chunks that are not published: kBusy where it has.
Result<void> check_published(const std::string& directory);

/// Excludes other writers of the store in `directory`, and of the stores that it is a part of, as
/// long as the lock lives. kBusy if another program writes to one of them, or left unpublished
/// chunks there.
Result<StoreLock> lock_exclusively(const std::string& directory);

}  // namespace zarrfs::tools
