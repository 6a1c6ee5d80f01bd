#include "core/cli/lengths.h"

#include <algorithm>
#include <charconv>

#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostAxes = 32;

}  // namespace

Result<std::vector<std::uint64_t>> parse_lengths(std::string_view text) {
  std::vector<std::uint64_t> lengths;
  const char separator = text.find(',') == std::string_view::npos ? 'x' : ',';
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::uint64_t length = 0;
    const auto [rest, problem] = std::from_chars(text.data() + begin, text.data() + end, length);
    const bool whole = problem == std::errc() && rest == text.data() + end;
    if (!whole || text[begin] == '0' || lengths.size() == kMostAxes) {
      return fail(Fault::kInvalid,
                  "\"" + printable(text) + "\" is not a list of lengths such as 64x64x64");
    }
    lengths.push_back(length);
    begin = end + 1;
  }
  return lengths;
}

}  // namespace zarrfs
