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
/// In front of a string that stands for a bare number, in memory and (escaped) in its text.
constexpr char kBareMark = '\x01';
constexpr std::string_view kBareText = "\"\\u0001";
constexpr std::size_t kMostBare = 4096;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

/// Where `text` has bare numbers, as JSON pointers into what is at `below` of its value.
std::vector<std::string> bare_numbers(std::string_view text, std::string_view below) {
  std::vector<std::string> found;
  const std::string marked = quote_bare_numbers(text, kBareText.substr(1));
  if (marked == text) return found;
  const auto json = parse_first_json(marked, "");
  if (!json || !json->is_structured()) return found;
  const Json flat = json->flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (!value.is_string() || !value.get_ref<const std::string&>().starts_with(kBareMark)) continue;
    if (found.size() == kMostBare) break;
    if (pointer.starts_with(below)) found.push_back(pointer.substr(below.size()));
  }
  return found;
}

bool names_bare_number(const Json& value) {
  return value == "NaN" || value == "Infinity" || value == "-Infinity";
}

/// `document` with the strings at `bare` marked as bare numbers. What is no such string any more
/// stays as it is.
Json with_marks(Json document, const std::vector<std::string>& bare, const std::string& below) {
  for (const std::string& place : bare) {
    try {
      const Json::json_pointer pointer(below + place);
      if (!document.contains(pointer)) continue;
      Json& value = document[pointer];
      if (names_bare_number(value)) value = kBareMark + value.get<std::string>();
    } catch (const nlohmann::json::exception&) {
      continue;  // no pointer, or one into a list by something else than a number
    }
  }
  return document;
}

/// `text`, of a document with marked strings, with the numbers in their place.
std::string with_bare_numbers(std::string text) {
  std::size_t at = 0;
  while ((at = text.find(kBareText, at)) != std::string::npos) {
    const std::size_t begin = at + kBareText.size();
    const std::size_t end = text.find('"', begin);
    if (end == std::string::npos) break;
    if (names_bare_number(text.substr(begin, end - begin))) {
      text.erase(end, 1).erase(at, kBareText.size());
    } else {
      at = begin;
    }
  }
  return text;
}

/// Whether netCDF-C would not read an attribute: see Profile::nested_attributes.
bool has_nested(const Json& attributes) {
  return std::any_of(
      attributes.items().begin(), attributes.items().end(), [](const auto& attribute) {
        const Json& value = attribute.value();
        if (attribute.key() == "_ARRAY_DIMENSIONS" || is_nczarr_name(attribute.key())) return false;
        const bool numbers = value.is_array() && !value.empty() &&
                             std::all_of(value.begin(), value.end(),
                                         [](const Json& one) { return one.is_number(); });
        return value.is_null() || (value.is_structured() && !numbers);
      });
}

Json note_in(const Json& attributes) {
  if (!attributes.is_object()) return Json::object();
  const auto found = attributes.find(kNoteAttribute);
  return found != attributes.end() && found->is_object() ? *found : Json::object();
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
  if (v2 && has_nested(attributes)) note[kNotedNesting] = true;
  set_note(std::move(note), attributes);
}

void take_spelling(const Json& shown, const Json& written, Json& attributes) {
  Json note = note_in(attributes);
  const Json before = note_in(shown);
  const Json spelling = note_in(written);
  for (const char* member : {kUtf8, kBare, kNotedMark, kNotedNesting}) {
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
  const bool null =
      zarray.is_object() && zarray.contains(kNotedFill) && zarray[kNotedFill].is_null();
  if (null) {
    changed[kNotedFill] = nullptr;
  } else {
    changed.erase(kNotedFill);
  }
  if (changed != note_in(attributes)) set_note(std::move(changed), attributes);
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
  for (const Json& pointer : bare) {
    if (pointer.is_string()) style.bare.push_back(below + pointer.get<std::string>());
  }
}

std::string styled_text(Json document, const TextStyle& style, const std::string& below) {
  if (style.bare.empty()) return document_text(document, style.ascii);
  return with_bare_numbers(
      document_text(with_marks(std::move(document), style.bare, below), style.ascii));
}

std::string styled_line(Json document, const TextStyle& style) {
  const Json marked = with_marks(std::move(document), style.bare, "");
  return with_bare_numbers(style.ascii ? dump_ascii(marked) : dump_json(marked));
}

}  // namespace zarrfs
