// Opens a SOURCE, for mounts and commands alike: one row of layers, each a Store over Stores. Place
// (a directory, objects at a server) -> archive -> volumes of other formats -> names that no server
// tells -> spool of what is written. Any may lie over any below it.
#pragma once

#include <memory>
#include <string>

#include "core/store/open_store.h"

namespace zarrfs {

Result<std::shared_ptr<Store>> open_source(const std::string& source, const StoreOptions& options);

}  // namespace zarrfs
