#include "core/metadata/v2_note.h"

#include <algorithm>
#include <utility>

#include "core/base/document_text.h"
#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/metadata/nczarr.h"

namespace zarrfs {
namespace {

constexpr const char* kUtf8 = "utf8";
constexpr const char* kBare = "bare";
/// In front of a string that stands for a bare number; escaped, in its text.
constexpr char kBareMark = '\x01';
constexpr std::string_view kBareMarkText = "\\u0001";
constexpr std::size_t kMostMarks = 8;
/// What a note has of bare numbers at most. Others are shown as strings.
constexpr std::size_t kMostBare = 1024;
constexpr std::size_t kMostBareText = std::size_t{64} << 10U;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

/// Collects where strings are that stand for bare numbers, as far as a note has room.
class BareNumbers {
 public:
  explicit BareNumbers(std::string_view below) : below_(below) {}

  void find_in(const Json& value) {
    if (value.is_string() && value.get_ref<const std::string&>().starts_with(kBareMark)) add();
    if (!value.is_structured()) return;
    for (const auto& [name, inner] : value.items()) {
      if (full_) return;
      place_.push_back(name);
      find_in(inner);
      place_.pop_back();
    }
  }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  void add() {
    std::string pointer = place_.to_string();
    length_ += pointer.size();
    full_ = found_.size() == kMostBare || length_ > kMostBareText;
    if (!full_ && pointer.starts_with(below_)) found_.push_back(pointer.substr(below_.size()));
  }

  std::string_view below_;
  Json::json_pointer place_;
  std::vector<std::string> found_;
  std::size_t length_ = 0;
  bool full_ = false;
};

/// Where `text` has bare numbers, as JSON pointers into what is at `below` of its value.
std::vector<std::string> bare_numbers(std::string_view text, std::string_view below) {
  const std::string marked = quote_bare_numbers(text, kBareMarkText);
  if (marked == text) return {};
  const auto json = parse_first_json(marked, "");
  if (!json) return {};
  BareNumbers found(below);
  found.find_in(*json);
  return found.take();
}

bool names_bare_number(const Json& value) {
  return value == "NaN" || value == "Infinity" || value == "-Infinity";
}

/// `document` with the strings at `bare` behind `mark`. What is no such string any more stays as it
/// is.
Json with_marks(Json document, const std::vector<std::string>& bare, const std::string& below,
                const std::string& mark) {
  for (const std::string& place : bare) {
    try {
      const Json::json_pointer pointer(below + place);
      if (!document.contains(pointer)) continue;
      Json& value = document[pointer];
      if (names_bare_number(value)) value = mark + value.get<std::string>();
    } catch (const nlohmann::json::exception&) {
      continue;  // no pointer, or one into a list by something else than a number
    }
  }
  return document;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// `text`, in which only bare numbers are strings behind `mark`, with the numbers in their place.
std::string with_bare_numbers(const std::string& text, const std::string& mark) {
  const std::string opening = "\"" + mark;
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(opening, done)) != std::string::npos;) {
    const std::size_t begin = at + opening.size();
    const std::size_t end = text.find('"', begin);
    if (end == std::string::npos) break;
    result.append(text, done, at - done).append(text, begin, end - begin);
    done = end + 1;
  }
  return result.append(text, done);
}

/// The text that `dump` makes of `document`, with the bare numbers of `style`.
template <typename Dump>
std::string with_style(Json document, const TextStyle& style, const std::string& below,
                       const Dump& dump) {
  std::string text = dump(document);
  if (style.bare.empty()) return text;
  std::size_t marks = 1;
  while (marks <= kMostMarks && text.find(repeated(kBareMarkText, marks)) != std::string::npos) {
    ++marks;
  }
  if (marks > kMostMarks) return text;
  document = with_marks(std::move(document), style.bare, below, std::string(marks, kBareMark));
  return with_bare_numbers(dump(document), repeated(kBareMarkText, marks));
}

Json note_in(const Json& attributes) {
  if (!attributes.is_object()) return Json::object();
  const auto found = attributes.find(kNoteAttribute);
  return found != attributes.end() && found->is_object() ? *found : Json::object();
}

bool has_no_mark_in_v3(const Json& dtype) {
  if (!dtype.is_string()) return false;
  const std::string& name = dtype.get_ref<const std::string&>();
  constexpr std::string_view kKinds = "SUOc";  // behind the order of bytes
  return name.size() > 1 && kKinds.find(name[1]) != std::string_view::npos;
}

void set_note(Json note, Json& attributes) {
  if (!attributes.is_object()) attributes = Json::object();
  if (note.empty()) {
    attributes.erase(kNoteAttribute);
  } else {
    attributes[kNoteAttribute] = std::move(note);
  }
}

}  // namespace

void note_spelling(std::string_view text, Json& attributes, std::string_view below) {
  if (!attributes.is_object()) return;
  attributes.erase(kNoteAttribute);
  Json note = Json::object();
  if (!is_ascii(text)) note[kUtf8] = true;
  if (auto bare = bare_numbers(text, below); !bare.empty()) note[kBare] = std::move(bare);
  const bool v2 = below.empty();
  if (v2 && attributes.contains(kNotedMark)) note[kNotedMark] = attributes[kNotedMark];
  set_note(std::move(note), attributes);
}

void note_bare(std::string_view text, Json& attributes, std::string_view below) {
  const bool may_have = text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
  if (!may_have || !attributes.is_object() || noted(attributes, kBare)) return;
  if (auto bare = bare_numbers(text, below); !bare.empty()) note(kBare, bare, attributes);
}

void take_spelling(const Json& shown, const Json& written, Json& attributes) {
  Json note = note_in(attributes);
  const Json before = note_in(shown);
  const Json spelling = note_in(written);
  for (const char* member : {kUtf8, kBare, kNotedMark}) {
    if (before.value(member, Json()) == spelling.value(member, Json())) continue;
    note.erase(member);
    if (spelling.contains(member)) note[member] = spelling[member];
  }
  if (note != note_in(attributes)) set_note(std::move(note), attributes);
}

void copy_note(const Json& from, Json& attributes) {
  if (note_in(from) != note_in(attributes)) set_note(note_in(from), attributes);
}

void note_fill(const Json& zarray, Json& attributes) {
  Json changed = note_in(attributes);
  const bool said = zarray.is_object() && zarray.contains(kNotedFill);
  if (said && zarray[kNotedFill].is_null()) {
    changed[kNotedFill] = nullptr;
  } else if (said && has_no_mark_in_v3(zarray.value("dtype", Json()))) {
    changed[kNotedFill] = true;
  } else {
    changed.erase(kNotedFill);
  }
  if (changed != note_in(attributes)) set_note(std::move(changed), attributes);
}

char separator_in(const Json& zarray) {
  return zarray.value("dimension_separator", Json()) == "/" ? '/' : '.';
}

void note_separator(const Json& zarray, char expected, Json& attributes) {
  if (!zarray.is_object() || zarray.value("shape", Json()).size() < 2) return;
  const char said = separator_in(zarray);
  if (said != expected) note(kNotedSeparator, std::string(1, said), attributes);
}

void note(const char* member, const Json& value, Json& attributes) {
  Json changed = note_in(attributes);
  if (value.is_null()) {
    changed.erase(member);
  } else {
    changed[member] = value;
  }
  if (changed != note_in(attributes)) set_note(std::move(changed), attributes);
}

std::optional<Json> noted(const Json& attributes, const char* member) {
  const Json note = note_in(attributes);
  const auto found = note.find(member);
  return found == note.end() ? std::nullopt : std::optional<Json>(*found);
}

bool is_noted_null(const Json& attributes) {
  const auto fill = noted(attributes, kNotedFill);
  return fill && fill->is_null();
}

bool is_noted_fill(const Json& attributes) { return noted(attributes, kNotedFill) == Json(true); }

std::optional<char> noted_separator(const Json& attributes) {
  const auto separator = noted(attributes, kNotedSeparator);
  if (separator == Json("/")) return '/';
  if (separator == Json(".")) return '.';
  return std::nullopt;
}

Json without_note(Json attributes) {
  if (attributes.is_object()) attributes.erase(kNoteAttribute);
  return attributes;
}

TextStyle style_of(const Json& attributes, bool ascii) {
  const Json note = note_in(attributes);
  TextStyle style{.ascii = ascii && note.value(kUtf8, Json()) != true, .bare = {}};
  add_bare(attributes, "", style);
  return style;
}

void add_bare(const Json& attributes, const std::string& below, TextStyle& style) {
  const Json bare = note_in(attributes).value(kBare, Json());
  if (!bare.is_array()) return;
  std::size_t length = 0;
  for (std::size_t i = 0; i < std::min(bare.size(), kMostBare); ++i) {
    if (!bare[i].is_string()) continue;
    const auto& place = bare[i].get_ref<const std::string&>();
    length += place.size();
    if (length > kMostBareText) return;
    style.bare.push_back(below + place);
  }
}

std::string styled_text(Json document, const TextStyle& style, const std::string& below) {
  return with_style(std::move(document), style, below,
                    [&](const Json& json) { return document_text(json, style.ascii); });
}

std::string styled_line(Json document, const TextStyle& style) {
  return with_style(std::move(document), style, "", [&](const Json& json) {
    return style.ascii ? dump_ascii(json) : dump_json(json);
  });
}

std::string bare_document_text(Json document) {
  TextStyle style;
  if (document.contains("attributes")) {
    Json& attributes = document["attributes"];
    add_bare(attributes, kAttributesPointer, style);
    note(kBare, Json(), attributes);
  }
  return styled_text(std::move(document), style);
}

}  // namespace zarrfs
