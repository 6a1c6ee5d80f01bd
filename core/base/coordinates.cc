#include "core/base/coordinates.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace zarrfs {

std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number >= limit) return std::nullopt;
  return number;
}

bool looks_like_chunk(std::string_view name) {
  if (name == "c") return true;
  if (name.starts_with("c.")) name.remove_prefix(2);
  while (true) {
    const std::size_t end = std::min(name.find('.'), name.size());
    if (!parse_coordinate(name.substr(0, end), std::numeric_limits<std::uint64_t>::max())) {
      return false;
    }
    if (end == name.size()) return true;
    name.remove_prefix(end + 1);
  }
}

}  // namespace zarrfs
