#include "core/base/json.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>
#include <vector>

#include "core/base/json_numbers.h"

namespace zarrfs {
namespace {

/// A value costs up to about 100 bytes of memory and as little as two bytes of text, so that the
/// length of a document alone does not bound what it becomes.
constexpr std::size_t kMaxValues = 4'000'000;

/// What the library says, without its identifier of the kind of error.
std::string plain_reason(std::string_view what) {
  if (what.starts_with('[')) {
    const std::size_t end = what.find("] ");
    if (end != std::string_view::npos) what.remove_prefix(end + 2);
  }
  return printable(what, 300);
}

/// Builds the document from the parser's events. Members are appended without looking at those
/// before, so that an object costs time in proportion to its length; its end finds duplicates.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::size_t max_depth) : max_depth_(max_depth) {}

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t& /*value*/) override { return refuse("it holds binary data"); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    const auto& members = open_.back()->get_ref<const Json::object_t&>();
    open_.pop_back();
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const auto& member : members) names.emplace_back(member.first);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return true;
    return refuse("member \"" + printable(*twice) + "\" occurs twice");
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    return refuse(plain_reason(error.what()));
  }

  Json take() { return std::move(root_); }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool open(Json container) {
    if (open_.size() >= max_depth_) {
      return refuse("it is nested deeper than " + std::to_string(max_depth_));
    }
    Json* added = add(std::move(container));
    if (added == nullptr) return false;
    open_.push_back(added);
    return true;
  }

  Json* add(Json value) {
    if (++values_ > kMaxValues) {
      refuse("it has more than " + std::to_string(kMaxValues) + " values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& items = open_.back()->get_ref<Json::array_t&>();
      return &items.emplace_back(std::move(value));
    }
    auto& members = open_.back()->get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(key_), std::move(value)).second;
  }

  std::size_t max_depth_;
  std::size_t values_ = 0;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string reason_;
};

bool may_hold_bare_tokens(std::string_view text) {
  return text.find("NaN") != std::string_view::npos ||
         text.find("Infinity") != std::string_view::npos;
}

Result<Json> parse(std::string_view text, const std::string& name, JsonLimits limits,
                   bool whole_text) {
  if (text.size() > limits.bytes) {
    return fail(Fault::kDamaged, name + ": " + std::to_string(text.size()) +
                                     " bytes are more than a document may have, " +
                                     std::to_string(limits.bytes));
  }
  // The parser takes a zero byte for the end of its input.
  if (whole_text && text.find('\0') != std::string_view::npos) {
    return fail(Fault::kDamaged, name + ": is not JSON: it holds a zero byte");
  }
  try {
    std::string quoted;
    if (may_hold_bare_tokens(text)) {
      quoted = quote_bare_numbers(text);
      text = quoted;
    }
    Builder builder(limits.depth);
    if (!Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json,
                         whole_text)) {
      return fail(Fault::kDamaged, name + ": is not a JSON document: " + builder.reason());
    }
    return builder.take();
  } catch (const std::bad_alloc&) {
    return fail(Fault::kNoMemory, name + ": out of memory while parsing it");
  } catch (const std::exception& error) {
    return fail(Fault::kDamaged, name + ": is not JSON: " + plain_reason(error.what()));
  }
}

/// A code point of UTF-8 text and the bytes it takes; 0 bytes where the text is not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

CodePoint next_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t bytes = 0;
  if (first >= 0xC2 && first <= 0xDF) bytes = 2;
  if (first >= 0xE0 && first <= 0xEF) bytes = 3;
  if (first >= 0xF0 && first <= 0xF4) bytes = 4;
  if (bytes == 0 || text.size() < bytes) return {};
  std::uint32_t value = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  const bool too_long = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (too_long || surrogate || value > 0x10FFFF) return {};
  return {value, bytes};
}

/// Whether a code point moves the cursor, ends the line or turns the direction of a log line.
bool changes_the_line(std::uint32_t value) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) {
    return value >= low && value <= high;
  };
  return value < 0x20 || within(0x7F, 0x9F) || within(0x200E, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2066, 0x2069);
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char hex[5];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<std::uint8_t>(c)));
    text += hex;
  }
  return text;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& name, JsonLimits limits) {
  return parse(text, name, limits, true);
}

Result<Json> parse_first_json(std::string_view text, const std::string& name, JsonLimits limits) {
  return parse(text, name, limits, false);
}

bool same_json(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump_ascii(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string dump_document(const Json& value) {
  return value.dump(4, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    const std::string_view raw = text.substr(0, bytes);
    std::string piece(raw);
    if (raw == "\\") piece = "\\\\";
    if (point.bytes == 0 || changes_the_line(point.value)) piece = escaped(raw);
    if (out.size() + piece.size() > limit) return out + "...";
    out += piece;
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace zarrfs
