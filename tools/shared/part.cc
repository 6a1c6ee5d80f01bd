#include "tools/shared/part.h"

#include <algorithm>
#include <charconv>

#include "core/base/printable.h"

namespace zarrfs::tools {
namespace {

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Part> parse_part(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto part = parse_count(text.substr(0, slash));
  const auto parts = parse_count(text.substr(slash + 1));
  const bool good = part && parts && *part >= 1 && *part <= *parts && *parts <= kMostParts;
  if (!good) return std::nullopt;
  return Part{*part, *parts};
}

std::string wrong_part(const std::string& text) {
  if (parse_part(text)) return {};
  return "'" + printable(text) + "' is not I/N, such as 3/64: I is 1 to N, N at most " +
         std::to_string(kMostParts);
}

NumberRange common_range(NumberRange a, NumberRange b) {
  const std::uint64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

NumberRange range_of_part(std::uint64_t total, Part part) {
  const std::uint64_t each = total / part.parts;
  const std::uint64_t larger = total % part.parts;  // the first parts have one more
  const auto begin = [&](std::uint64_t before) { return before * each + std::min(before, larger); };
  return {begin(part.part - 1), begin(part.part)};
}

}  // namespace zarrfs::tools
