// A file of references as the Zarr v3 store that it is: names lead to the bytes of other files, or
// into it. Nodes of v2 are shown as v3. Only read. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/formats/virtual_targets.h"
#include "core/store/open_store.h"
#include "core/store/store.h"

namespace zarrfs {

/// The store that the file says, or null where it is no file of references. Reads it once: what
/// becomes of it later is not seen. `name` is what messages call the store.
Result<std::shared_ptr<Store>> open_references(SourceFile file, const std::string& name,
                                               const StoreOptions& options);

}  // namespace zarrfs
