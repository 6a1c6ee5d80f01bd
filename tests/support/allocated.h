// What this process has allocated and not freed, in bytes.
#pragma once

#include <malloc.h>

#include <cstdint>

namespace zarrfs {

inline std::uint64_t allocated() {
#if __GLIBC_PREREQ(2, 33)
  const auto now = ::mallinfo2();
#else
  const auto now = ::mallinfo();  // of less than 2 GiB
#endif
  return static_cast<std::uint64_t>(now.uordblks) + static_cast<std::uint64_t>(now.hblkhd);
}

}  // namespace zarrfs
