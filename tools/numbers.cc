#include "tools/numbers.h"

#include <charconv>

#include "core/base/json.h"

namespace zarrfs {

CLI::Validator number_from(std::uint64_t least) {
  const auto complaint = [least](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec == std::errc::result_out_of_range) {
      return printable(text) + " is more than 64 bits hold";
    }
    if (read.ec == std::errc() && number >= least) return {};
    return printable(text) + " is not a number from " + std::to_string(least) + " on";
  };
  return {complaint, ""};
}

}  // namespace zarrfs
