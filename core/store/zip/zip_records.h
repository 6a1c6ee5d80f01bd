// The records of a zip archive, for whoever reads and whoever writes them.
// Source: PKWARE APPNOTE 6.3 (section 4.3).
#pragma once

#include <cstdint>

namespace zarrfs::zip {

inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::uint32_t kEnd64Signature = 0x06064b50;
inline constexpr std::uint32_t kLocatorSignature = 0x07064b50;
inline constexpr std::uint32_t kEntrySignature = 0x02014b50;
inline constexpr std::uint32_t kHeaderSignature = 0x04034b50;
inline constexpr std::uint64_t kEndSize = 22;
inline constexpr std::uint64_t kLocatorSize = 20;
inline constexpr std::uint64_t kEnd64Size = 56;
inline constexpr std::uint64_t kEntrySize = 46;
inline constexpr std::uint64_t kLongestComment = 65535;
inline constexpr std::uint16_t kZip64Field = 1;
inline constexpr std::uint16_t kNoRoom16 = 0xffff;      ///< The field of zip64 has the number.
inline constexpr std::uint32_t kNoRoom32 = 0xffffffff;  ///< The same.

}  // namespace zarrfs::zip
