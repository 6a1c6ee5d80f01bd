// Opens a SOURCE, for mounts and commands alike: one row of layers, each a Store over Stores. Place
// (a directory, objects at a server) -> archive -> volumes of other formats -> names that no server
// tells -> spool of what is written. Any may lie over any below it. A repository of versions
// (Icechunk) is a place of its own kind: nothing lies over what it shows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/formats/icechunk/icechunk_store.h"
#include "core/store/http/revision.h"
#include "core/store/open_store.h"

namespace zarrfs {

Result<std::shared_ptr<Store>> open_source(const std::string& source, const StoreOptions& options);

/// Which revision is shown of a source that is a repository of versions, and which ones it has.
struct SourceHistory {
  Revision shown;
  IcechunkHistory history;
};
/// Nothing where `source` is none.
Result<std::optional<SourceHistory>> history_of(const std::string& source,
                                                const StoreOptions& options);

}  // namespace zarrfs
