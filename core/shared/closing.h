// The end of an epoch: what is read and removed when the last writer leaves, or by the next one
// that comes. Thread-safe; two may do it at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log/log.h"
#include "core/shared/record.h"
#include "core/store/store.h"

namespace zarrfs {

/// The log in a writer's directory; nothing where there is none.
Result<std::optional<LogContents>> log_in(const std::shared_ptr<Store>& store,
                                          const std::string& folder);

/// What a writer has announced and has not said to be done.
Result<std::vector<Announcement>> announced_by(Store& store, const std::string& folder);

/// Brings the last generation of each path to its name, where it is not there: no writer is left.
Result<void> settle_all(const std::shared_ptr<Store>& store, const std::string& epoch);

/// The members say that the epoch is closed: removes it, and what its writers have left beside
/// shards. Where it is gone already, nothing.
Result<void> finish_closing(const std::shared_ptr<Store>& store, const std::string& epoch);

}  // namespace zarrfs
