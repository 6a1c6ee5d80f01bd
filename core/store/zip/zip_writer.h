// The records of a zip archive that is being written: stored entries, with zip64 where a number
// needs it, and its end record always (RFC 9 of OME-NGFF recommends it for every archive).
// Source: PKWARE APPNOTE 6.3 (sections 4.3 and 4.5.3). Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"
#include "core/store/zip/zip_directory.h"

namespace zarrfs {

/// How many bytes zip_local_header() of such an entry has.
std::uint64_t zip_local_header_size(std::uint64_t name_size, std::uint64_t size);
/// What stands before the bytes of `entry`, which has everything but its place.
Bytes zip_local_header(const ZipEntry& entry);
/// The entry of the directory.
void append_zip_entry(Bytes& directory, const ZipEntry& entry);
/// How many bytes append_zip_entry() adds at most.
std::uint64_t most_zip_entry_bytes(std::uint64_t name_size);
/// What stands behind `directory`, the place of all `entries`, and ends the archive. `comment` has
/// at most 65535 bytes.
Bytes zip_end(ByteRange directory, std::uint64_t entries, std::string_view comment);

}  // namespace zarrfs
