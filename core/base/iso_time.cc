#include "core/base/iso_time.h"

#include <array>
#include <ctime>

namespace zarrfs {

std::string iso_time(std::int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm parts {};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

}  // namespace zarrfs
