#include "core/cli/complaint.h"

#include <sstream>

#include "core/base/printable.h"

namespace zarrfs {

std::string cli_complaint(const CLI::App* app, const CLI::Error& problem) {
  constexpr std::size_t kLongest = 2000;
  std::istringstream lines(CLI::FailureMessage::simple(app, problem));
  std::string said;
  for (std::string line; std::getline(lines, line);) said += printable(line, kLongest) + "\n";
  return said;
}

}  // namespace zarrfs
