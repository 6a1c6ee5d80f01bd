#include "core/cli/lengths.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostAxes = 32;
constexpr std::array<std::string_view, 2> kShapes = {"--shard-shape", "--shard-chunks"};

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

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

std::vector<std::string> join_lengths(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  bool in_shape = false;
  for (const std::string& word : words) {
    if (in_shape && is_number(word)) {
      joined.back() += "x" + word;
      continue;
    }
    in_shape = !joined.empty() && is_number(word) &&
               std::find(kShapes.begin(), kShapes.end(), joined.back()) != kShapes.end();
    joined.push_back(word);
  }
  return joined;
}

}  // namespace zarrfs
