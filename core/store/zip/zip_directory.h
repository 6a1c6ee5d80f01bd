// The directory of a zip archive: which entries there are and where. Everything in it is untrusted.
// Source: PKWARE APPNOTE 6.3 (sections 4.3 and 4.5.3, zip64). Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

struct ZipEntry {
  std::string name;  ///< Without slashes around it.
  bool directory = false;
  std::uint16_t method = 0;  ///< 0: stored, 8: deflated.
  std::uint32_t checksum = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;  ///< Of its local header.
  std::uint64_t extra_guess = 0;    ///< Bytes of name and extra field in the directory.
  std::int64_t modified_ns = 0;     ///< Since 1970, taken as UTC: archives do not tell the zone.
};

inline constexpr std::uint64_t kZipTail = std::uint64_t{64} << 10U;  ///< Bytes worth reading first.
inline constexpr std::uint64_t kZipHeader = 30;  ///< Bytes of a local header before the name.

/// An archive with a larger directory, or whose directories have longer names, is refused.
inline constexpr std::uint64_t kLargestZipDirectory = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t kMostZipFolderBytes = std::uint64_t{128} << 20U;

/// Reads exactly `range`.
using ReadRange = std::function<Result<Bytes>(ByteRange range)>;

/// The entries of an archive of `size` bytes; where a name comes twice, the last one. kDamaged
/// where it is no archive, is cut off, or its entries lie outside or over each other; kUnsupported
/// for archives in parts, encrypted entries, names with "..", a first slash or backslashes for
/// slashes, and archives with other bytes before them.
Result<std::vector<ZipEntry>> read_zip_directory(std::uint64_t size, const ReadRange& read);

/// Its local header up to the end of the name, in an archive of `size` bytes.
ByteRange zip_header_range(const ZipEntry& entry, std::uint64_t size);

/// Where the bytes of `entry` begin, from its local header (see zip_header_range). kDamaged where
/// it is none, or that of another entry, or they would not end before `end`: ranges of an entry are
/// compared with no checksum.
Result<std::uint64_t> zip_data_offset(const ZipEntry& entry, ByteView header, std::uint64_t end);

}  // namespace zarrfs
