// References, in a file of JSON or a directory of Parquet, as the Zarr v3 store that they are:
// names lead to the bytes of other files, or into them. Nodes of v2 are shown as v3. Only read.
// Thread-safe.
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

/// The same of the directory `place` of references in Parquet, or null where it is none. Reads its
/// `.zmetadata` once, and each file of references when one of its chunks is asked for. `base`: what
/// URLs without a scheme are relative to, an absolute path or a URL.
Result<std::shared_ptr<Store>> open_parquet_references(std::shared_ptr<Store> place,
                                                       std::string base, const std::string& name,
                                                       const StoreOptions& options);

}  // namespace zarrfs
