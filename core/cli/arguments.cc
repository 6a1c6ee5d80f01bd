#include "core/cli/arguments.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <string_view>

namespace zarrfs {
namespace {

constexpr std::string_view kUrlFile = "url-file:";
constexpr std::size_t kLongestUrl = std::size_t{16} << 10U;

void cover_secrets(std::span<char> word) {
  const std::string_view text(word.data(), word.size());
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return;
  const std::size_t host = scheme + 3;
  const std::size_t question = std::min(text.find('?', host), text.size());
  const std::size_t at_sign = text.substr(0, question).rfind('@');
  const auto cover = [&](std::size_t begin, std::size_t end) {
    std::fill(word.begin() + static_cast<std::ptrdiff_t>(begin),
              word.begin() + static_cast<std::ptrdiff_t>(end), '*');
  };
  if (at_sign != std::string_view::npos && at_sign > host) cover(host, at_sign);
  if (question < text.size()) cover(question + 1, text.size());
}

Result<std::string> url_in(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, kLongestUrl> first{};
  stream.getline(first.data(), first.size());
  std::string url(first.data());
  while (url.ends_with('\r') || url.ends_with(' ')) url.pop_back();
  if (url.find("://") != std::string::npos) return url;
  return fail(Fault::kInvalid,
              std::string(kUrlFile) + file + ": the first line of that file is not a URL");
}

}  // namespace

Result<std::vector<std::string>> take_arguments(int argc, char** argv) {
  std::vector<std::string> words;
  for (char* argument : std::span(argv, static_cast<std::size_t>(argc))) {
    words.emplace_back(argument);
    cover_secrets({argument, words.back().size()});
  }
  for (std::string& word : words) {
    if (!word.starts_with(kUrlFile)) continue;
    ZARRFS_TRY(word, url_in(word.substr(kUrlFile.size())));
  }
  return words;
}

}  // namespace zarrfs
