#include "core/metadata/document_text.h"

#include <cstddef>

namespace zarrfs {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// The position after the string that begins at `at`; the end of the text where it has no end.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

std::size_t after_space(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(kSpace, at);
  return found == std::string_view::npos ? text.size() : found;
}

/// The position of the comma or bracket that ends the value at `at`; the end of the text where
/// there is none.
std::size_t after_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = after_string(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return text.size();
}

}  // namespace

CutText cut_member(std::string_view text, std::string_view member) {
  CutText cut;
  std::size_t copied = 0;  // the text before is in `cut`, or left out
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (c != '"') {
      ++at;
      continue;
    }
    const std::size_t name = at + 1;
    at = after_string(text, at);
    if (depth != 1 || text.substr(name, at - name - 1) != member) continue;
    const std::size_t colon = after_space(text, at);
    if (colon >= text.size() || text[colon] != ':') continue;
    const std::size_t begin = after_space(text, colon + 1);
    at = after_value(text, begin);
    if (at == begin || at == text.size()) break;  // no value: for the parser to refuse
    const std::size_t last = text.find_last_not_of(kSpace, at - 1);
    if (text.substr(begin, last + 1 - begin) != "null") cut.had_value = true;
    cut.text.append(text.substr(copied, begin - copied)).append("null");
    copied = at;
  }
  cut.text.append(text.substr(copied));
  return cut;
}

}  // namespace zarrfs
