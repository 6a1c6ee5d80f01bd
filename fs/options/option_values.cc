#include "fs/options/option_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr double kLongest = 365.0 * 24 * 3600;

tl::unexpected<Error> not_a(const char* kind, std::string_view text) {
  return fail(Fault::kInvalid, "\"" + printable(text) + "\" is not " + kind);
}

/// The number that all of `text` is; nothing otherwise.
template <class Number, class... Base>
std::optional<Number> whole_number(std::string_view text, Base... base) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number, base...);
  if (problem != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::uint64_t unit_of(std::string_view suffix) {
  static constexpr std::array<std::pair<char, unsigned>, 4> kUnits = {
      {{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}}};
  if (suffix.empty()) return 1;
  if (suffix.size() != 1 && suffix.substr(1) != "iB") return 0;
  for (const auto& [letter, bits] : kUnits) {
    if (suffix.front() == letter) return std::uint64_t{1} << bits;
  }
  return 0;
}

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto number = whole_number<std::uint64_t>(text);
  if (!number || *number < least || *number > most) {
    return fail(Fault::kInvalid, "\"" + printable(text) + "\" is not a number from " +
                                     std::to_string(least) + " to " + std::to_string(most));
  }
  return *number;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = whole_number<std::uint64_t>(text.substr(0, digits));
  const std::uint64_t unit = unit_of(text.substr(digits));
  if (!number || unit == 0) return not_a("a size such as 4096, 64M or 64MiB", text);
  const auto bytes = checked_multiply(*number, unit);
  if (!bytes) return not_a("a size below 16 EiB", text);
  return *bytes;
}

Result<double> parse_seconds(std::string_view text) {
  const auto seconds = whole_number<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds <= kLongest)) {
    return not_a("a number of seconds from 0 to 31536000", text);
  }
  return *seconds;
}

Result<std::uint32_t> parse_permissions(std::string_view text) {
  const auto bits = whole_number<std::uint32_t>(text, 8);
  if (!bits || *bits > 0777) return not_a("an octal number from 0 to 777", text);
  return *bits;
}

std::vector<std::string> split_options(std::string_view text) {
  std::vector<std::string> items(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      items.back().push_back(text[++i]);
    } else if (text[i] == ',') {
      items.emplace_back();
    } else {
      items.back().push_back(text[i]);
    }
  }
  std::erase(items, std::string());
  return items;
}

}  // namespace zarrfs
