// The opened entries of a zip archive. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// A stored entry: `range` of the archive. Once all of it was read, in whatever order, it is
/// compared with `checksum` (CRC-32): the last read, and each one after it, is kDamaged where they
/// differ. Single ranges cannot be compared.
std::shared_ptr<File> stored_entry(std::shared_ptr<const File> archive, std::string name,
                                   ByteRange range, const struct stat& status,
                                   std::uint32_t checksum);

/// A deflated entry, whose `bytes` were compared already.
std::shared_ptr<File> inflated_entry(std::string name, Bytes bytes, const struct stat& status);

}  // namespace zarrfs
