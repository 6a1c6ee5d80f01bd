#include "tools/numbers.h"

#include <charconv>
#include <sstream>

#include "core/base/json.h"

namespace zarrfs {
namespace {

std::string quoted(const std::string& text) { return '"' + printable(text) + '"'; }

bool begins_with_zero(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// Whether only letters and blanks are left for what comes after a number.
bool is_unit(std::string_view rest) {
  for (const char c : rest) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && c != ' ') return false;
  }
  return true;
}

}  // namespace

CLI::Validator number_from(std::uint64_t least) {
  const auto complaint = [least](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc::result_out_of_range) {
      return quoted(text) + " is more than 64 bits hold";
    }
    const bool whole = read.ec == std::errc() && is_unit({read.ptr, end});
    if (whole && number >= least && !begins_with_zero(text)) return {};
    return quoted(text) + " is not a whole number from " + std::to_string(least) + " on";
  };
  return {complaint, ""};
}

CLI::Validator whole_number_between(std::uint64_t least, std::uint64_t most) {
  const std::string from = std::to_string(least);
  const std::string to = std::to_string(most);
  const auto complaint = [least, most, from, to](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool whole = read.ec == std::errc() && read.ptr == end && !begins_with_zero(text);
    if (whole && number >= least && number <= most) return {};
    return quoted(text) + " is not a whole number from " + from + " to " + to;
  };
  return {complaint, "UINT in [" + from + " - " + to + "]"};
}

CLI::Validator number_between(double least, double most) {
  std::ostringstream range;
  range << "FLOAT in [" << least << " - " << most << "]";
  const auto complaint = [least, most](const std::string& text) -> std::string {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool whole = read.ec == std::errc() && read.ptr == end;
    if (whole && number >= least && number <= most) return {};
    std::ostringstream said;
    said << quoted(text) << " is not a number from " << least << " to " << most;
    return said.str();
  };
  return {complaint, range.str()};
}

}  // namespace zarrfs
