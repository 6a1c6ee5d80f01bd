#include "core/store/http/headers.h"

#include <curl/curl.h>

#include <array>
#include <charconv>
#include <ctime>

#include "core/base/lower_case.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostHeaders = std::size_t{64} << 10U;
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 62U;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

void Headers::add_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    values_.clear();
    bytes_ = 0;
    return;
  }
  const std::size_t colon = line.find(':');
  bytes_ += line.size();
  if (colon == std::string_view::npos || colon == 0 || bytes_ > kMostHeaders) return;
  values_.emplace(lower_case(trimmed(line.substr(0, colon))), trimmed(line.substr(colon + 1)));
}

std::optional<std::string> Headers::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (lower_case(text.substr(0, kUnit.size())) != kUnit) return std::nullopt;
  text = trimmed(text.substr(kUnit.size()));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ContentRange found;
  const std::string_view size = text.substr(slash + 1);
  if (size != "*") {
    found.size = parse_whole_number(size);
    if (!found.size || *found.size > kMostSize) return std::nullopt;
  }
  const std::string_view range = text.substr(0, slash);
  if (range == "*") return found;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_whole_number(range.substr(0, dash));
  const auto last = parse_whole_number(range.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= kMostSize) return std::nullopt;
  found.range = ByteRange{*first, *last - *first + 1};
  if (found.size && !lies_within(*found.range, *found.size)) return std::nullopt;
  return found;
}

std::optional<std::int64_t> parse_http_date(const std::string& text) {
  const time_t seconds = ::curl_getdate(text.c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return static_cast<std::int64_t>(seconds);
}

std::optional<std::int64_t> clock_ahead(const Headers& headers) {
  const auto date = headers.find("date");
  const auto seconds = date ? parse_http_date(*date) : std::nullopt;
  if (!seconds) return std::nullopt;
  return *seconds - static_cast<std::int64_t>(::time(nullptr));
}

std::string http_date(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), length};
}

Version version_of(const Headers& headers) {
  if (const auto tag = headers.find("etag"); tag && !tag->empty()) {
    return {*tag, tag->starts_with("W/")};
  }
  if (const auto date = headers.find("last-modified"); date && !date->empty()) {
    return {"modified " + *date, true};
  }
  return {"", true};
}

std::string generation_of(const Headers& headers) {
  const auto told = headers.find("x-goog-generation");
  return told && parse_whole_number(*told) ? *told : "";
}

std::string encoding_of(const Headers& headers) {
  for (const char* name : {"content-encoding", "x-goog-stored-content-encoding"}) {
    const auto encoding = headers.find(name);
    if (encoding && *encoding != "identity") return *encoding;
  }
  return {};
}

}  // namespace zarrfs
#include "core/base/lower_case.h"