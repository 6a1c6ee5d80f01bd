// Whether another process runs zarrfs. Source: proc(5). Thread-safe.
#pragma once

#include <string>

namespace zarrfs {

/// Whether process `pid` is zarrfs, by whatever name it was called, as mount.zarrfs of mount(8).
/// False where it has ended.
bool is_zarrfs_process(const std::string& pid);

}  // namespace zarrfs
