#include "core/base/json.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "core/base/json_numbers.h"
#include "core/base/printable.h"

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

}  // namespace zarrfs
