// A store that is a directory of the local file system.
// Source: openat2(2), which resolves a path without ever leaving the directory.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// Opens the directory `path`; `name` is what messages call it. kInvalid where it is absent or no
/// directory, kUnsupported where the kernel has no openat2 (Linux before 5.6). `keep_open`: see
/// open_store.
Result<std::unique_ptr<Store>> open_local_store(const std::string& path, const std::string& name,
                                                LinkPolicy links, std::size_t keep_open);

}  // namespace zarrfs
