#include "core/base/read_exactly.h"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace zarrfs {

Result<void> read_exactly(int descriptor, std::uint64_t offset, MutableByteView out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(system_error(errno, "reading a file of the store"));
    if (got == 0) {
      return fail(Fault::kStale,
                  "a file of the store became shorter while it was open: nothing at offset " +
                      std::to_string(offset));
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace zarrfs
