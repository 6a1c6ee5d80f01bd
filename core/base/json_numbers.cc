#include "core/base/json_numbers.h"

#include <vector>

#include "core/base/json.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The bare token (NaN, Infinity or -Infinity) at `at` of `text`, where a value can stand;
/// empty where there is none.
std::string_view bare_token(std::string_view text, std::size_t at, char before) {
  if (before != '\0' && before != '[' && before != ',' && before != ':') return {};
  for (const std::string_view token : {"NaN", "Infinity", "-Infinity"}) {
    if (text.substr(at, token.size()) != token) continue;
    const std::size_t end = at + token.size();
    const char after = end < text.size() ? text[end] : ' ';
    if (is_space(after) || after == ',' || after == ']' || after == '}') return token;
  }
  return {};
}

/// Stops at the first integer that the parser had to make a double of.
class LongIntegers final : public nlohmann::json_sax<Json> {
 public:
  explicit LongIntegers(std::string_view member) : member_(member) {}

  bool null() override { return next(); }
  bool boolean(bool /*value*/) override { return next(); }
  bool number_integer(number_integer_t /*value*/) override { return next(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return next(); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    if (text.find_first_of(".eE") != string_t::npos || !counts()) return next();
    found_ = place() + ": " + printable(text);
    return false;
  }
  bool string(string_t& /*value*/) override { return next(); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(false); }
  bool start_array(std::size_t /*size*/) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    open_.back().name = name;
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

  /// Its place and spelling; empty where there is none.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  struct Level {
    bool array = false;
    std::string name;       // of the member
    std::size_t index = 0;  // of the item
  };

  [[nodiscard]] bool counts() const {
    return member_.empty() || (!open_.empty() && open_.front().name == member_);
  }
  [[nodiscard]] std::string place() const {
    std::string place;
    for (const Level& level : open_) {
      if (level.array) {
        place += "[" + std::to_string(level.index) + "]";
      } else {
        place += (place.empty() ? "" : ".") + printable(level.name);
      }
    }
    return place;
  }
  bool open(bool array) {
    open_.push_back({array, {}, 0});
    return true;
  }
  bool close() {
    open_.pop_back();
    return next();
  }
  bool next() {
    if (!open_.empty()) ++open_.back().index;
    return true;
  }

  std::string_view member_;
  std::vector<Level> open_;
  std::string found_;
};

}  // namespace

std::string quote_bare_numbers(std::string_view text, std::string_view mark) {
  std::string quoted;
  quoted.reserve(text.size() + 64);
  char before = '\0';  // the last character that is not white space
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      quoted += c;
      if (c == '\\' && at + 1 < text.size()) quoted += text[++at];
      if (c == '"') in_string = false;
      continue;
    }
    const std::string_view token =
        c == 'N' || c == 'I' || c == '-' ? bare_token(text, at, before) : std::string_view{};
    if (!token.empty()) {
      quoted.append("\"").append(mark).append(token).append("\"");
      at += token.size() - 1;
      before = '"';
      continue;
    }
    quoted += c;
    if (c == '"') in_string = true;
    if (!is_space(c)) before = c;
  }
  return quoted;
}

Result<void> check_integers(std::string_view text, std::string_view member,
                            const std::string& name) {
  const std::string quoted = quote_bare_numbers(text);
  LongIntegers finder(member);
  constexpr bool kWholeText = false;
  Json::sax_parse(quoted.begin(), quoted.end(), &finder, Json::input_format_t::json, kWholeText);
  if (finder.found().empty()) return {};
  return fail(Fault::kInvalid, name + ": " + finder.found() +
                                   " is an integer beyond 64 bits, which would become another "
                                   "number");
}

}  // namespace zarrfs
