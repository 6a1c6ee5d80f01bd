#include "core/formats/references/reference_file.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/formats/references/reference_templates.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostDepth = 64;
constexpr std::size_t kMostValues = 200'000;  // of one document, of the templates or of gen

/// What is no reference, built from the parser's events: a document, the templates, gen.
class Collected {
 public:
  /// Null where it has too many values, or is too deep.
  Json* add(Json value) {
    if (++values_ > kMostValues || open_.size() > kMostDepth) return nullptr;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
    }
    auto& members = open_.back()->get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(key_), std::move(value)).second;
  }
  bool open(Json container) {
    Json* const added = add(std::move(container));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }
  /// Whether that was the outermost one.
  bool close() {
    open_.pop_back();
    return open_.empty();
  }
  void key(std::string name) { key_ = std::move(name); }
  Json take() { return std::move(root_); }

 private:
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::size_t values_ = 0;
};

/// One member of gen: references for all values of its dimensions.
class Generator {
 public:
  Generator(const ReferenceTemplates& templates, ReferenceTable& table)
      : templates_(templates), table_(table) {}

  Result<void> run(const Json& one) {
    if (!one.is_object()) return fail(Fault::kDamaged, "gen holds what is no object");
    ZARRFS_TRY(const std::string key, text_member(one, "key"));
    ZARRFS_TRY(const std::string url, text_member(one, "url"));
    const bool whole = !one.contains("offset") && !one.contains("length");
    ZARRFS_CHECK(read_dimensions(one.value("dimensions", Json())));
    std::uint64_t count = 1;
    for (const Dimension& dimension : dimensions_) {
      count = checked_multiply(count, dimension.count).value_or(UINT64_MAX);
    }
    if (count > ReferenceTable::kMost) {
      return fail(Fault::kTooBig, "gen of key \"" + printable(key, 80) + "\" tells of " +
                                      (count == UINT64_MAX ? "2^64" : std::to_string(count)) +
                                      " references; at most " +
                                      std::to_string(ReferenceTable::kMost) + " are read");
    }
    for (std::uint64_t number = 0; number < count; ++number) {
      ZARRFS_CHECK(check_wanted());
      const TemplateNames names = names_at(number);
      ZARRFS_TRY(const std::string made_key, templates_.render(key, names));
      ZARRFS_TRY(const std::string made_url, templates_.render(url, names));
      std::optional<ByteRange> range;
      if (!whole) {
        range.emplace();
        ZARRFS_TRY(range->offset, number_member(one, "offset", names));
        ZARRFS_TRY(range->length, number_member(one, "length", names));
      }
      ZARRFS_CHECK(add_place(table_, made_key, made_url, range));
    }
    return {};
  }

  /// Adds a reference whose numbers were told by a file.
  static Result<void> add_place(ReferenceTable& table, const std::string& key,
                                const std::string& url, const std::optional<ByteRange>& range) {
    const auto end = range ? checked_add(range->offset, range->length) : 0;
    if (!end || *end > static_cast<std::uint64_t>(INT64_MAX)) {
      return fail(Fault::kDamaged, "key \"" + printable(key) + "\": bytes " + spell_range(*range) +
                                       " are no part of any file");
    }
    return table.add(key, url, range);
  }

 private:
  struct Dimension {
    std::string name;
    std::vector<TemplateValue> values;  ///< Empty: `start` and `step` tell.
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::uint64_t count = 0;
  };

  static Result<std::string> text_member(const Json& one, const char* name) {
    const auto found = one.find(name);
    if (found != one.end() && found->is_string()) return found->get<std::string>();
    return fail(Fault::kDamaged, std::string("gen: \"") + name + "\" is no text");
  }

  Result<std::uint64_t> number_member(const Json& one, const char* name,
                                      const TemplateNames& names) const {
    const auto found = one.find(name);
    if (found != one.end() && found->is_number_unsigned()) return found->get<std::uint64_t>();
    ZARRFS_TRY(const std::string text, text_member(one, name));
    ZARRFS_TRY(const std::string digits, templates_.render(text, names));
    const bool whole = !digits.empty() && digits.size() < 19 &&
                       std::all_of(digits.begin(), digits.end(),
                                   [](char letter) { return letter >= '0' && letter <= '9'; });
    if (whole) return std::stoull(digits);
    return fail(Fault::kDamaged, std::string("gen: \"") + name + "\" is \"" +
                                     printable(digits, 40) + "\", which is no number of bytes");
  }

  Result<void> read_dimensions(const Json& dimensions) {
    dimensions_.clear();
    if (!dimensions.is_object()) return fail(Fault::kDamaged, "gen: dimensions is no object");
    for (const auto& [name, told] : dimensions.items()) {
      ZARRFS_TRY(Dimension dimension, told.is_array() ? listed(told) : counted(told));
      dimension.name = name;
      dimensions_.push_back(std::move(dimension));
    }
    return {};
  }

  static Result<Dimension> listed(const Json& told) {
    Dimension dimension;
    for (const Json& value : told) {
      if (value.is_number_integer()) {
        dimension.values.emplace_back(value.get<std::int64_t>());
      } else if (value.is_string()) {
        dimension.values.emplace_back(value.get<std::string>());
      } else {
        return fail(Fault::kDamaged, "gen: dimensions holds " + printable(dump_json(value), 40));
      }
    }
    dimension.count = dimension.values.size();
    return dimension;
  }

  /// {"start": 0, "stop": 5, "step": 1}, as Python's range() takes them.
  static Result<Dimension> counted(const Json& told) {
    Dimension dimension;
    std::int64_t stop = 0;
    for (auto [name, value] : {std::pair{"start", &dimension.start}, std::pair{"stop", &stop},
                               std::pair{"step", &dimension.step}}) {
      const bool given = told.is_object() && told.contains(name);
      if (!given && std::string_view(name) != "stop") continue;
      constexpr std::int64_t kMostNumber = std::int64_t{1} << 53U;
      const Json number = given ? told[name] : Json();
      const auto whole = number.is_number_integer() ? number.get<std::int64_t>() : INT64_MIN;
      if (whole < -kMostNumber || whole > kMostNumber) {
        return fail(Fault::kDamaged, std::string("gen: \"") + name + "\" of a dimension is " +
                                         printable(dump_json(number), 40));
      }
      *value = whole;
    }
    if (dimension.step == 0) return fail(Fault::kDamaged, "gen: \"step\" of a dimension is 0");
    const bool up = dimension.step > 0;
    const std::int64_t length = up ? stop - dimension.start : dimension.start - stop;
    const std::int64_t step = up ? dimension.step : -dimension.step;
    dimension.count = length <= 0 ? 0 : divide_up(length, step);
    return dimension;
  }

  [[nodiscard]] TemplateNames names_at(std::uint64_t number) const {
    TemplateNames names;
    for (auto at = dimensions_.rbegin(); at != dimensions_.rend(); ++at) {
      const std::uint64_t place = number % at->count;
      number /= at->count;
      names.insert_or_assign(
          at->name, at->values.empty()
                        ? TemplateValue{at->start + static_cast<std::int64_t>(place) * at->step}
                        : at->values[place]);
    }
    return names;
  }

  const ReferenceTemplates& templates_;
  ReferenceTable& table_;
  std::vector<Dimension> dimensions_;
};

/// Takes the parser's events.
class Handler final : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(ReferenceTable& table) : table_(table) {}

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return scalar(value);
  }
  bool string(string_t& value) override {
    if (place_ == Place::kTop || place_ == Place::kRefs) return take(table_.add_text(key_, value));
    return scalar(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return refuse("it holds binary data"); }

  bool key(string_t& name) override {
    if (place_ == Place::kCollecting) {
      collected_.key(std::move(name));
    } else {
      key_ = std::move(name);
    }
    return true;
  }
  bool start_object(std::size_t /*size*/) override {
    switch (place_) {
      case Place::kOutside: place_ = Place::kTop; return true;
      case Place::kTop:
        if (key_ == "refs") {
          if (has_refs_) return refuse("member \"refs\" occurs twice");
          has_refs_ = true;
          place_ = Place::kRefs;
          return true;
        }
        return collect(Json::object());
      case Place::kRefs: return collect(Json::object());
      case Place::kReference: return no_reference("holds an object");
      case Place::kCollecting: return open(Json::object());
    }
    return false;
  }
  bool end_object() override {
    if (place_ == Place::kCollecting) return close();
    place_ = place_ == Place::kRefs ? Place::kTop : Place::kOutside;
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    switch (place_) {
      case Place::kOutside: return refuse("it is a list");
      case Place::kTop:
        if (key_ == "gen") return collect(Json::array());
        [[fallthrough]];
      case Place::kRefs:
        outer_ = place_;
        place_ = Place::kReference;
        length_ = 0;
        return true;
      case Place::kReference: return no_reference("holds a list");
      case Place::kCollecting: return open(Json::array());
    }
    return false;
  }
  bool end_array() override {
    if (place_ == Place::kCollecting) return close();
    place_ = outer_;
    if (length_ != 1 && length_ != 3) {
      return no_reference("has " + std::to_string(length_) + " values, not 1 or 3");
    }
    const auto range = length_ == 3 ? std::optional(range_) : std::nullopt;
    return take(Generator::add_place(table_, key_, url_, range));
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return refuse("is not JSON at byte " + std::to_string(position));
  }

  /// Adds what gen tells, and puts what the templates say in the place of their names.
  Result<void> finish() {
    if (version_ != 0 && version_ != 1) {
      return fail(Fault::kUnsupported, "version is " + std::to_string(version_) +
                                           "; zarrfs reads 0 and 1 of kerchunk's references");
    }
    if (!templates_.is_null() && !templates_.is_object()) {
      return fail(Fault::kDamaged, "templates is no object");
    }
    ReferenceTemplates templates;
    for (const auto& [name, text] : templates_.items()) {
      if (!text.is_string()) {
        return fail(Fault::kDamaged, "template \"" + printable(name, 40) + "\" is no text");
      }
      templates.add(name, text.get<std::string>());
    }
    for (const Json& one : gen_) ZARRFS_CHECK(Generator(templates, table_).run(one));
    return table_.finish([&](const std::string& url) {
      return templates.empty() ? Result<std::string>(url) : templates.render(url);
    });
  }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  enum class Place { kOutside, kTop, kRefs, kReference, kCollecting };

  bool refuse(const std::string& what, Fault fault = Fault::kDamaged) {
    error_ = {fault, what};
    return false;
  }
  bool no_reference(const std::string& what) {
    return refuse("key \"" + printable(key_) + "\": the reference " + what);
  }
  bool take(Result<void> done) {
    if (!done) error_ = std::move(done.error());
    return done.has_value();
  }

  bool scalar(Json value) {
    switch (place_) {
      case Place::kOutside: return refuse("it is no object");
      case Place::kTop:
        if (key_ == "version" && value.is_number_integer()) version_ = value.get<std::int64_t>();
        return true;
      case Place::kRefs:
        return no_reference("is " + printable(dump_json(value), 40) + ", no text and no list");
      case Place::kReference: return part_of_reference(value);
      case Place::kCollecting: return collected_.add(std::move(value)) != nullptr || too_much();
    }
    return false;
  }

  bool part_of_reference(const Json& value) {
    ++length_;
    if (length_ == 1) {
      if (!value.is_string()) {
        return no_reference("has no URL but " + printable(dump_json(value), 40));
      }
      url_ = value.get<std::string>();
      return true;
    }
    if (length_ > 3) return no_reference("has more than 3 values");
    const char* const name = length_ == 2 ? "offset" : "length";
    if (!value.is_number_unsigned()) {
      return no_reference(std::string("has the ") + name + " " + printable(dump_json(value), 40));
    }
    (length_ == 2 ? range_.offset : range_.length) = value.get<std::uint64_t>();
    return true;
  }

  bool collect(Json container) {
    outer_ = place_;
    place_ = Place::kCollecting;
    collected_ = {};
    return open(std::move(container));
  }
  bool too_much() {
    return refuse("member \"" + printable(key_) + "\" has more than " +
                  std::to_string(kMostValues) + " values, or is nested deeper than " +
                  std::to_string(kMostDepth));
  }
  bool open(Json container) { return collected_.open(std::move(container)) || too_much(); }
  bool close() {
    if (!collected_.close()) return true;
    place_ = outer_;
    Json value = collected_.take();
    const bool top = place_ == Place::kTop;
    if (top && key_ == "templates") {
      templates_ = std::move(value);
    } else if (top && key_ == "gen") {
      gen_ = std::move(value);
    } else {
      return take(table_.add_text(key_, dump_json(value)));
    }
    return true;
  }

  ReferenceTable& table_;
  Place place_ = Place::kOutside;
  Place outer_ = Place::kOutside;  ///< Around a reference, or what is collected.
  std::string key_;
  bool has_refs_ = false;
  std::size_t length_ = 0;
  std::string url_;
  ByteRange range_;
  Collected collected_;
  std::int64_t version_ = 1;
  Json templates_;
  Json gen_ = Json::array();
  Error error_;
};

bool may_hold_bare_number(std::string_view text) {
  return text.find("NaN") != std::string_view::npos ||
         text.find("Infinity") != std::string_view::npos;
}

Result<void> parse_into(std::string_view text, ReferenceTable& table) {
  try {
    std::string quoted;
    if (may_hold_bare_number(text)) {
      quoted = quote_bare_numbers(text);
      text = quoted;
    }
    Handler handler(table);
    if (!Json::sax_parse(text.begin(), text.end(), &handler)) return fail(handler.error());
    return handler.finish();
  } catch (const std::bad_alloc&) {
    return fail(Fault::kNoMemory, "out of memory while it is read");
  } catch (const std::exception& error) {
    return fail(Fault::kDamaged, "is not JSON: " + printable(error.what()));
  }
}

}  // namespace

Result<std::shared_ptr<const ReferenceTable>> parse_references(std::string_view text,
                                                               const std::string& name) {
  auto table = std::make_shared<ReferenceTable>();
  auto parsed = parse_into(text, *table);
  if (!parsed) return fail(parsed.error().fault, name + ": " + parsed.error().message);
  return table;
}

}  // namespace zarrfs
