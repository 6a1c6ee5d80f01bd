#include "fs/serve/http_values.h"

#include <algorithm>
#include <charconv>

#include "core/base/lower_case.h"
#include "core/base/path.h"
#include "core/store/http/headers.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Takes what stands before the first `separator` off `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (problem == std::errc::result_out_of_range) return ~std::uint64_t{0};
  return problem == std::errc() ? std::optional(number) : std::nullopt;
}

Result<std::string> decode_name(std::string_view part) {
  auto name = percent_decode(part);
  if (!name) return fail(Fault::kInvalid, "the path has a % without two hexadecimal digits");
  if (!is_plain_name(*name))
    return fail(Fault::kInvalid, "the path has a component that no file can have");
  return std::move(*name);
}

/// "q=0", "q=0.00": not acceptable.
bool has_weight_zero(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view one = trimmed(take_until(parameters, ';'));
    if (lower_case(trimmed(take_until(one, '='))) != "q") continue;
    return trimmed(one).find_first_not_of("0.") == std::string_view::npos;
  }
  return false;
}

}  // namespace

std::string Target::member(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    std::string_view value = take_until(rest, '&');
    if (take_until(value, '=') == name) return percent_decode(value).value_or("");
  }
  return {};
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  if (const std::size_t scheme = text.find("://");
      scheme != std::string_view::npos && !text.starts_with('/')) {
    text.remove_prefix(scheme + 3);
    target.authority = text.substr(0, text.find('/'));
    text.remove_prefix(target.authority.size());
  }
  if (!text.starts_with('/')) return fail(Fault::kInvalid, "the path does not begin with a slash");
  const std::string_view path = take_until(text, '?');
  target.query = text;
  target.directory = path.ends_with('/');
  for (const std::string& part : path_names(path)) {  // "//" is "/", as most servers have it
    ZARRFS_TRY(std::string name, decode_name(part));
    target.names.push_back(std::move(name));
  }
  return target;
}

bool names_tag(std::string_view list, std::string_view tag, bool weak) {
  if (trimmed(list) == "*") return true;
  while (!list.empty()) {
    std::string_view one = trimmed(take_until(list, ','));
    if (one.starts_with("W/")) {
      if (!weak) continue;
      one.remove_prefix(2);
    }
    if (one == tag) return true;
  }
  return false;
}

bool accepts(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    std::string_view one = take_until(list, ',');
    if (lower_case(trimmed(take_until(one, ';'))) == wanted) return !has_weight_zero(one);
  }
  return false;
}

RangeAsked parse_range(std::string_view text, std::uint64_t size) {
  using Kind = RangeAsked::Kind;
  std::string_view unit = take_until(text, '=');
  if (lower_case(trimmed(unit)) != "bytes" || text.find(',') != std::string_view::npos) return {};
  std::string_view last = trimmed(text);
  const bool dashed = last.find('-') != std::string_view::npos;
  const std::string_view first = trimmed(take_until(last, '-'));
  last = trimmed(last);
  if (!dashed) return {};
  const auto end = parse_digits(last);
  if (first.empty()) {
    if (!end) return {};
    if (*end == 0 || size == 0) return {Kind::kUnsatisfiable, {}};
    const std::uint64_t length = std::min(*end, size);
    return {Kind::kPart, {size - length, length}};
  }
  const auto begin = parse_digits(first);
  if (!begin || (!last.empty() && !end) || (end && *end < *begin)) return {};
  if (*begin >= size) return {Kind::kUnsatisfiable, {}};
  const std::uint64_t stop = std::min(end.value_or(size - 1), size - 1);
  return {Kind::kPart, {*begin, stop - *begin + 1}};
}

const std::string& LastDate::of(std::int64_t seconds) {
  if (seconds != seconds_ || text_.empty()) text_ = http_date(seconds_ = seconds);
  return text_;
}

std::string html_escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace zarrfs
