#include "core/base/result.h"

#include <system_error>

namespace zarrfs {

Fault fault_of(int error_number) {
  for (int i = 0; i <= static_cast<int>(Fault::kNoData); ++i) {
    const auto fault = static_cast<Fault>(i);
    if (errno_of(fault) == error_number && fault != Fault::kGivenUp) return fault;
  }
  if (error_number == EMFILE) return Fault::kNoFiles;
  return Fault::kIo;
}

Error system_error(int error_number, const std::string& message) {
  return {fault_of(error_number), message + ": " + std::generic_category().message(error_number)};
}

}  // namespace zarrfs
