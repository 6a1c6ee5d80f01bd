#include "core/store/http/url.h"

#include <algorithm>
#include <cctype>

#include "core/base/lower_case.h"

namespace zarrfs {
namespace {

bool unreserved(unsigned char letter) {
  return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.' ||
         letter == '~';
}

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

}  // namespace

std::string Url::host() const {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

std::string Url::text() const { return scheme + "://" + authority + path; }

Result<Url> parse_url(const std::string& text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string::npos || colon == 0) {
    return fail(Fault::kInvalid, "\"" + text + "\" is not a URL");
  }
  Url url;
  url.scheme = lower_case(std::string_view(text).substr(0, colon));
  const std::string rest = text.substr(colon + 3);
  url.authority = rest.substr(0, rest.find_first_of("/?#"));
  // The text may hold a password: it is not repeated. Of other schemes a name may stand there.
  const std::string user = url.authority.substr(0, url.authority.find('@'));
  const bool is_login = url.scheme.starts_with("http") || user.find(':') != std::string::npos;
  if (user.size() < url.authority.size() && is_login) {
    return fail(Fault::kInvalid, url.scheme +
                                     "://...: a user name or password in a URL is seen by everyone "
                                     "who lists processes; put it into ~/.netrc");
  }
  if (url.authority.empty()) return fail(Fault::kInvalid, text + ": names no host or bucket");
  const auto control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) {
    return fail(Fault::kInvalid, "a URL with a control character");
  }
  if (rest.find('#') != std::string::npos) {
    return fail(Fault::kInvalid, text + ": '#' has no meaning in the URL of a store");
  }
  const std::string behind = rest.substr(url.authority.size());
  const std::size_t question = behind.find('?');
  url.path = behind.substr(0, question);
  if (question != std::string::npos) url.query = behind.substr(question + 1);
  while (url.path.ends_with('/')) url.path.pop_back();
  return url;
}

std::string percent_encode(std::string_view text, bool keep_slashes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string made;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (unreserved(byte) || (keep_slashes && letter == '/')) {
      made += letter;
      continue;
    }
    made += '%';
    made += kDigits[byte >> 4U];
    made += kDigits[byte & 15U];
  }
  return made;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      made += text[at];
      continue;
    }
    const int high = at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    made += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return made;
}

}  // namespace zarrfs
#include "core/base/lower_case.h"