// What a program said in its documents that the stored `zarr.json` has no words for: the attribute
// `_zarrfs`, which no view shows. By it later mounts and `zarrfs unshard` show the documents as
// they were written. docs/semantics.md has the rule. Members, each only where it is needed:
//   "utf8"        true: the attributes were written in UTF-8, not as escapes of ASCII
//   "bare"        JSON pointers of attributes written as bare NaN, Infinity or -Infinity
//   "_FillValue"  that attribute as it was written; netCDF-C goes by its spelling, and by its being
//                 there
//   "fill_value"  null, where `.zarray` said so; true, where it gave text or complex numbers one,
//                 for which Zarr v3 has no mark
//   "separator"   "/" or ".": between the numbers in the names of chunks, where a reader would be
//                 shown the other one
//   "dimensions"  true: a level of an image was written with `_ARRAY_DIMENSIONS`; "netcdf": the
//                 names of dimensions are from netCDF-C's own documents, and in no such attribute
//   "consolidated" true: a group that netCDF-C wrote was given `.zmetadata`
// Stores are untrusted: members of other types are ignored. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"

namespace zarrfs {

/// Where the attributes are in `zarr.json`, as a JSON pointer.
inline constexpr const char* kAttributesPointer = "/attributes";
inline constexpr const char* kNoteAttribute = "_zarrfs";
inline constexpr const char* kNotedFill = "fill_value";
inline constexpr const char* kNotedMark = "_FillValue";
inline constexpr const char* kNotedSeparator = "separator";
inline constexpr const char* kNotedDimensions = "dimensions";
inline constexpr const char* kDimensionsOfNetcdf = "netcdf";
inline constexpr const char* kNotedConsolidated = "consolidated";

/// Adds to `attributes`, parsed from `text`, the note of how they are written. `below` is where in
/// the text they are, as a JSON pointer: "" in `.zattrs`, "/attributes" in `zarr.json`, of which
/// only "utf8" and "bare" are noted. A note that a program wrote is dropped.
void note_spelling(std::string_view text, Json& attributes, std::string_view below = {});
/// Adds to `attributes`, parsed from `text`, which bare numbers they have, where no note tells it:
/// zarr-python 3 writes them into `zarr.json` as they are.
void note_bare(std::string_view text, Json& attributes, std::string_view below);
/// Takes the note that note_spelling() made of `written` where it differs from the one that it made
/// of `shown`: what comes back as it was shown stays as it is stored.
void take_spelling(const Json& shown, const Json& written, Json& attributes);
/// Puts the note of `from` in the place of that of `attributes`.
void copy_note(const Json& from, Json& attributes);
/// Notes whether `zarray`, a `.zarray`, has null as its fill value, or one of a type without marks
/// in Zarr v3.
void note_fill(const Json& zarray, Json& attributes);
/// Between the numbers in the names of chunks of `zarray`, a `.zarray` that is an object.
char separator_in(const Json& zarray);
/// Notes the separator of `zarray`, where chunks have two names and it is not `expected`.
void note_separator(const Json& zarray, char expected, Json& attributes);
/// Notes one member; null takes it away.
void note(const char* member, const Json& value, Json& attributes);

/// A member of the note; nothing where it has none.
std::optional<Json> noted(const Json& attributes, const char* member);
/// Whether `.zarray` had null as its fill value.
bool is_noted_null(const Json& attributes);
/// Whether `.zarray` gave text, or complex numbers, a fill value.
bool is_noted_fill(const Json& attributes);
/// What `.zarray` had between the numbers in the names of chunks; nothing where none is noted.
std::optional<char> noted_separator(const Json& attributes);
/// `attributes` without the note.
Json without_note(Json attributes);

/// How the text of a document is written.
struct TextStyle {
  bool ascii = true;              ///< See Profile::ascii.
  std::vector<std::string> bare;  ///< JSON pointers of strings that are bare numbers.
};
/// As `attributes` say that they were written; in ASCII only if `ascii` and nothing else is noted.
TextStyle style_of(const Json& attributes, bool ascii);

/// Adds the bare numbers of `attributes`, which are at `below` of a document, to its style.
void add_bare(const Json& attributes, const std::string& below, TextStyle& style);

/// The text of a document, as document_text() has it, in `style`. `below` is where in it the
/// attributes are, as a JSON pointer: "" or kAttributesPointer.
std::string styled_text(Json document, const TextStyle& style, const std::string& below = "");
/// The same, on one line.
std::string styled_line(Json document, const TextStyle& style);
/// A `zarr.json` with the bare numbers that the note of its attributes tells of, in place of it.
std::string bare_document_text(Json document);

}  // namespace zarrfs
