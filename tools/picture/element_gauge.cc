#include "tools/picture/element_gauge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/codecs/element_numbers.h"
#include "core/present/v2_types.h"

namespace zarrfs::tools {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();

bool is_complex(const DataType& type) { return type.kind == TypeKind::kComplex; }
bool is_time(const DataType& type) {
  return type.kind == TypeKind::kDatetime || type.kind == TypeKind::kTimedelta;
}

std::string number_text(double number) {
  char text[64];
  (void)std::snprintf(text, sizeof text, "%.7g", number);
  return text;
}

// Seconds of a unit that is a fixed time; nothing for months, years and generic.
std::optional<double> seconds_of(const std::string& unit) {
  static const std::map<std::string, double> kUnits = {
      {"W", 604800}, {"D", 86400}, {"h", 3600},   {"m", 60},     {"s", 1},     {"ms", 1e-3},
      {"us", 1e-6},  {"ns", 1e-9}, {"ps", 1e-12}, {"fs", 1e-15}, {"as", 1e-18}};
  const auto found = kUnits.find(unit);
  if (found == kUnits.end()) return std::nullopt;
  return found->second;
}

// Digits of the fraction of a second that a unit counts in: 9 for ns.
int fraction_digits(const std::string& unit) {
  if (unit == "ms") return 3;
  if (unit == "us") return 6;
  return unit == "ns" ? 9 : 0;
}

// ".000000123": what `count` units are beyond whole seconds.
std::string fraction_text(const std::string& unit, std::int64_t count) {
  const int digits = fraction_digits(unit);
  if (digits == 0) return "";
  std::int64_t second = 1;
  for (int i = 0; i < digits; ++i) second *= 10;
  const std::int64_t rest = (count % second + second) % second;
  std::string text = std::to_string(rest);
  return "." + std::string(static_cast<std::size_t>(digits) - text.size(), '0') + text;
}

// "1999-12-31T23:59:59", or the number and its unit where no calendar fits it.
std::string time_text(const DataType& type, std::int64_t count) {
  constexpr double kLatest = 253402300799;  // the end of the year 9999
  const auto second = seconds_of(type.unit);
  const double since =
      static_cast<double>(count) * static_cast<double>(type.scale_factor) * second.value_or(0);
  if (type.kind == TypeKind::kDatetime && second && std::abs(since) <= kLatest) {
    const auto whole = static_cast<std::time_t>(std::floor(since));
    std::tm date{};
    char text[64];
    if (::gmtime_r(&whole, &date) != nullptr &&
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &date) > 0) {
      return text + (type.scale_factor == 1 ? fraction_text(type.unit, count) : "");
    }
  }
  const std::string factor =
      type.scale_factor == 1 ? "" : " x " + std::to_string(type.scale_factor);
  return std::to_string(count) + factor + " " + type.unit;
}

double complex_magnitude(const DataType& type, ByteView element) {
  if (type.size == 2 * sizeof(float)) {
    return std::hypot(load_element<float>(element, 0), load_element<float>(element, 1));
  }
  return std::hypot(load_element<double>(element, 0), load_element<double>(element, 1));
}

std::string number_text(const DataType& type, ByteView element) {
  return with_number_type(type, [&](auto example) {
    const auto number = number_of(load_element<decltype(example)>(element, 0));
    if constexpr (std::is_integral_v<decltype(number)>) {
      return std::to_string(number);
    } else {
      return number_text(static_cast<double>(number));
    }
  });
}

// UTF-32 in UTF-8, up to the zeros that fill it up.
std::string text_of_utf32(ByteView element) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= element.size(); at += 4) {
    const auto code = load_little<std::uint32_t>(element.subspan(at));
    if (code == 0) break;
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xC0U | (code >> 6U));
      text += static_cast<char>(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
      text += static_cast<char>(0xE0U | (code >> 12U));
      text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
      text += static_cast<char>(0x80U | (code & 0x3FU));
    } else {
      text += static_cast<char>(0xF0U | ((code >> 18U) & 7U));
      text += static_cast<char>(0x80U | ((code >> 12U) & 0x3FU));
      text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
      text += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  return text;
}

std::string hexadecimal(ByteView bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string name_text(const DataType& type, ByteView element) {
  constexpr std::size_t kLongest = 40;
  std::string text;
  switch (type.kind) {
    case TypeKind::kFixedUtf32: text = text_of_utf32(element); break;
    case TypeKind::kString:
    case TypeKind::kFixedBytes:
      text.assign(reinterpret_cast<const char*>(element.data()), element.size());
      text.erase(std::min(text.size(), text.find_last_not_of('\0') + 1));
      break;
    default: return printable(hexadecimal(element), kLongest);
  }
  return '"' + printable(text, kLongest) + '"';
}

}  // namespace

Result<ElementGauge> ElementGauge::make(const DataType& type, const std::string& field) {
  ElementGauge gauge;
  const DataType wide = widened(type);
  gauge.type_ = wide;
  if (!field.empty() && type.fields.empty()) {
    return fail(Fault::kInvalid, "--field " + printable(field) + ": the array's type, " +
                                     type.name + ", has no fields");
  }
  std::string names;
  for (const Field& one : wide.fields) {
    if (field.empty() || one.name == field) {
      gauge.field_ = one.name;
      gauge.type_ = one.type;
      break;
    }
    gauge.offset_ += one.type.size;
    names += (names.empty() ? "" : ", ") + printable(one.name);
  }
  if (!field.empty() && gauge.field_ != field) {
    return fail(Fault::kInvalid,
                "--field " + printable(field) + ": the array's fields are " + names);
  }
  return gauge;
}

void ElementGauge::leave_out_missing(const Json& attributes) {
  if (!attributes.is_object() || !field_.empty() || !is_number(type_)) return;
  for (const char* name : {kFillAttribute, kMissingAttribute}) {
    if (!attributes.contains(name)) continue;
    auto marker = fill_attribute(type_, Json{{kFillAttribute, attributes[name]}});
    if (marker) missing_.push_back(std::move(*marker));
  }
}

bool ElementGauge::has_names() const {
  return !is_number(type_) && !is_complex(type_) && !is_time(type_);
}

std::string ElementGauge::what() const {
  std::string text = field_.empty() ? "" : "field " + printable(field_);
  if (is_complex(type_)) text += text.empty() ? "magnitude" : ", magnitude";
  return text;
}

double ElementGauge::number_of_element(ByteView element) const {
  if (is_complex(type_)) return complex_magnitude(type_, element);
  if (is_time(type_)) {
    const auto count = load_element<std::int64_t>(element, 0);
    return count == kNotATime ? kNone : static_cast<double>(count);
  }
  return with_number_type(type_, [&](auto example) {
    return static_cast<double>(number_of(load_element<decltype(example)>(element, 0)));
  });
}

double ElementGauge::take_name(ByteView element) {
  const auto next = static_cast<double>(names_.size());
  return names_.emplace(Bytes(element.begin(), element.end()), next).first->second;
}

std::optional<double> ElementGauge::take(ByteView element) {
  if (!field_.empty()) element = element.subspan(offset_, type_.size);
  if (has_names()) return take_name(element);
  const auto is_element = [&](const Bytes& marker) { return std::ranges::equal(marker, element); };
  if (std::ranges::any_of(missing_, is_element)) {
    ++left_out_;
    return std::nullopt;
  }
  const double number = number_of_element(element);
  if (!std::isfinite(number)) return std::nullopt;
  if (low_element_.empty() || number < low_) {
    low_ = number;
    low_element_.assign(element.begin(), element.end());
  }
  if (high_element_.empty() || number > high_) {
    high_ = number;
    high_element_.assign(element.begin(), element.end());
  }
  return number;
}

double ElementGauge::high() const {
  return has_names() ? static_cast<double>(std::max<std::size_t>(names_.size(), 1) - 1) : high_;
}

void ElementGauge::finish() {
  places_.resize(names_.size());
  double place = 0;
  for (const auto& [name, number] : names_) places_[static_cast<std::size_t>(number)] = place++;
}

double ElementGauge::place_of(double taken) const {
  return has_names() ? places_.at(static_cast<std::size_t>(taken)) : taken;
}

std::string ElementGauge::low_text() const {
  if (has_names()) return names_.empty() ? "" : name_text(type_, names_.begin()->first);
  return text_of(low_element_);
}

std::string ElementGauge::high_text() const {
  if (has_names()) return names_.empty() ? "" : name_text(type_, names_.rbegin()->first);
  return text_of(high_element_);
}

std::string ElementGauge::text_of(const Bytes& element) const {
  if (element.empty()) return "";
  if (is_complex(type_)) return number_text(complex_magnitude(type_, element));
  if (is_time(type_)) return time_text(type_, load_element<std::int64_t>(element, 0));
  return number_text(type_, element);
}

}  // namespace zarrfs::tools
