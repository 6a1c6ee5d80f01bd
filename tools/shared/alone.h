// Being the only one who writes to a store. Source: core/log/lock.h. Thread-safe.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/log/lock.h"

namespace zarrfs::tools {

/// Whether the store in `directory` has chunks that are not published: kBusy where it has.
Result<void> check_published(const std::string& directory);

/// Keeps others from writing to the store in `directory`, and to the stores that it is a part of,
/// as long as the lock lives. kBusy where another program writes to one of them, or left
/// chunks there that are not published.
Result<StoreLock> be_alone(const std::string& directory);

}  // namespace zarrfs::tools
