#include "core/formats/references/reference_templates.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/printable.h"

namespace zarrfs {
namespace {

using Templates = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

tl::unexpected<Error> wrong(std::string_view text, const std::string& what) {
  return fail(Fault::kDamaged, "template \"" + printable(text, 80) + "\": " + what);
}

/// Source: Python's operators, whose remainder has the sign of the divisor.
std::optional<std::int64_t> calculate(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (sign == "+") return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (sign == "-") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (sign == "*") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  const bool rounds = a % b != 0 && (a < 0) != (b < 0);
  return sign == "%" ? a % b + (rounds ? b : 0) : a / b - (rounds ? 1 : 0);
}

/// One expression, read from left to right.
class Expression {
 public:
  /// `templates`: null inside of one, where only what it was called with has a value.
  Expression(std::string_view text, const TemplateNames& names, const Templates* templates)
      : text_(text), rest_(text), names_(names), templates_(templates) {}

  Result<TemplateValue> read() {
    if (rest_.starts_with('-')) return unknown();  // jinja2 takes white space away there
    ZARRFS_TRY(TemplateValue value, sum(0));
    skip_spaces();
    if (!rest_.empty()) return unknown();
    return value;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> unknown() const {
    return fail(Fault::kUnsupported, "template \"" + printable(text_, 80) +
                                         "\": zarrfs does not know \"" + printable(rest_, 40) +
                                         "\" in it; it knows names, numbers, + - * // % and ()");
  }
  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }
  /// Whether the next one of `signs` follows, which is taken.
  std::string_view take(std::initializer_list<std::string_view> signs) {
    skip_spaces();
    for (const std::string_view sign : signs) {
      if (!rest_.starts_with(sign)) continue;
      rest_.remove_prefix(sign.size());
      return sign;
    }
    return {};
  }

  Result<TemplateValue> apply(std::string_view sign, const TemplateValue& a,
                              const TemplateValue& b) {
    const auto* const left = std::get_if<std::int64_t>(&a);
    const auto* const right = std::get_if<std::int64_t>(&b);
    if (left == nullptr || right == nullptr) {
      return wrong(text_, "\"" + std::string(sign) + "\" stands beside a text");
    }
    const auto number = calculate(sign, *left, *right);
    if (!number) return wrong(text_, "its value does not fit 64 bits");
    return TemplateValue{*number};
  }

  Result<TemplateValue> sum(int depth) {
    if (depth > kMostTemplateDepth) {
      return wrong(text_, "is nested deeper than " + std::to_string(kMostTemplateDepth));
    }
    ZARRFS_TRY(TemplateValue value, product(depth));
    for (std::string_view sign = take({"+", "-"}); !sign.empty(); sign = take({"+", "-"})) {
      ZARRFS_TRY(const TemplateValue next, product(depth));
      ZARRFS_TRY(value, apply(sign, value, next));
    }
    return value;
  }

  Result<TemplateValue> product(int depth) {
    ZARRFS_TRY(TemplateValue value, single(depth));
    for (std::string_view sign = take({"*", "//", "%"}); !sign.empty();
         sign = take({"*", "//", "%"})) {
      ZARRFS_TRY(const TemplateValue next, single(depth));
      ZARRFS_TRY(value, apply(sign, value, next));
    }
    return value;
  }

  Result<TemplateValue> single(int depth) {
    if (!take({"-"}).empty()) {
      if (depth >= kMostTemplateDepth) return unknown();
      ZARRFS_TRY(const TemplateValue value, single(depth + 1));
      return apply("-", TemplateValue{std::int64_t{0}}, value);
    }
    if (!take({"("}).empty()) {
      ZARRFS_TRY(TemplateValue value, sum(depth + 1));
      if (take({")"}).empty()) return unknown();
      return value;
    }
    if (const std::string_view quote = take({"'", "\""}); !quote.empty()) return quoted(quote);
    if (rest_.empty() || !is_name_letter(rest_.front())) return unknown();
    return is_digit(rest_.front()) ? number() : named(depth);
  }

  std::string_view word() {
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_name_letter);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  Result<TemplateValue> number() {
    const std::string_view digits = word();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end()) {
      return wrong(text_, "\"" + printable(digits, 40) + "\" is no number of 64 bits");
    }
    return TemplateValue{value};
  }

  Result<TemplateValue> quoted(std::string_view quote) {
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return wrong(text_, "a quotation mark is missing");
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return TemplateValue{std::move(value)};
  }

  Result<TemplateValue> named(int depth) {
    const std::string_view name = word();
    if (!take({"("}).empty()) return called(name, depth);
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    const auto found = templates_ == nullptr ? Templates::const_iterator{} : templates_->find(name);
    if (templates_ == nullptr || found == templates_->end()) {
      return wrong(text_, "nothing gives \"" + printable(name, 40) + "\" a value");
    }
    if (found->second.find(kOpen) != std::string::npos) {
      return wrong(text_, "\"" + printable(name, 40) +
                              "\" is a template of its own, to be called " +
                              "with the values of its names");
    }
    return TemplateValue{found->second};
  }

  /// name(a="text", b=2): the template of that name, in which these names alone have values. So no
  /// template leads to another one.
  Result<TemplateValue> called(std::string_view name, int depth) {
    const auto found = templates_ == nullptr ? Templates::const_iterator{} : templates_->find(name);
    if (templates_ == nullptr || found == templates_->end()) {
      return wrong(text_, "there is no template \"" + printable(name, 40) + "\"");
    }
    TemplateNames given;
    while (take({")"}).empty()) {
      if (!given.empty() && take({","}).empty()) return unknown();
      skip_spaces();
      const std::string given_name(word());
      if (given_name.empty() || take({"="}).empty()) return unknown();
      ZARRFS_TRY(given[given_name], sum(depth + 1));
    }
    return expand(found->second, given);
  }

  static Result<TemplateValue> expand(const std::string& text, const TemplateNames& given);

  const std::string_view text_;
  std::string_view rest_;
  const TemplateNames& names_;
  const Templates* const templates_;
};

Result<std::string> rendered(std::string_view text, const TemplateNames& names,
                             const Templates* templates) {
  if (text.size() > kMostRendered) {
    return wrong(text, "has more than " + std::to_string(kMostRendered) + " bytes");
  }
  std::string out;
  std::string_view rest = text;
  while (true) {
    for (const char* other : {"{%", "{#"}) {
      if (rest.find(other) == std::string_view::npos) continue;
      return fail(Fault::kUnsupported, "template \"" + printable(text, 80) +
                                           "\": zarrfs does not know \"" + other + "\"");
    }
    const std::size_t begin = std::min(rest.find(kOpen), rest.size());
    out += rest.substr(0, begin);
    if (out.size() > kMostRendered) {
      return wrong(text, "becomes more than " + std::to_string(kMostRendered) + " bytes");
    }
    if (begin == rest.size()) return out;
    rest.remove_prefix(begin + kOpen.size());
    const std::size_t end = rest.find(kClose);
    if (end == std::string_view::npos) return wrong(text, "\"}}\" is missing");
    ZARRFS_TRY(const TemplateValue value, Expression(rest.substr(0, end), names, templates).read());
    const auto* const number = std::get_if<std::int64_t>(&value);
    out += number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
    rest.remove_prefix(end + kClose.size());
  }
}

Result<TemplateValue> Expression::expand(const std::string& text, const TemplateNames& given) {
  ZARRFS_TRY(std::string value, rendered(text, given, nullptr));
  return TemplateValue{std::move(value)};
}

}  // namespace

Result<std::string> ReferenceTemplates::render(std::string_view text,
                                               const TemplateNames& names) const {
  return rendered(text, names, &templates_);
}

}  // namespace zarrfs
