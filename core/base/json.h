// JSON documents as stores hold them. Source: Zarr v3 core (UTF-8 JSON), and what real writers do:
// bare NaN and Infinity (zarr-python 2), bytes after the first value (netCDF-C).
// Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace zarrfs {

/// What a document may be. Larger or deeper ones are kDamaged.
struct JsonLimits {
  std::size_t bytes = std::size_t{16} << 20U;
  std::size_t depth = 64;
};

/// Parses `text`. `name` is what error messages call the document.
/// Bare NaN, Infinity and -Infinity become the strings "NaN", "Infinity" and "-Infinity"; integers
/// beyond 64 bits stay exact as far as a double is. Duplicate members: kDamaged. Only white space
/// may follow the value. Memory is bounded by a small multiple of the text, whatever it holds.
Result<Json> parse_json(std::string_view text, const std::string& name, JsonLimits limits = {});

/// As parse_json, but bytes after the first complete value are ignored (documents that a program
/// has written over a longer one without truncating it).
Result<Json> parse_first_json(std::string_view text, const std::string& name,
                              JsonLimits limits = {});

/// Whether two documents say the same: the order of members does not count.
bool same_json(const Json& a, const Json& b);

/// One line for machines or messages. Bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const Json& value);

/// As dump_json, in ASCII: other characters are escaped.
std::string dump_ascii(const Json& value);

/// Indented by four spaces, with a final newline: the form of documents zarrfs shows and writes.
/// In ASCII, as zarr-python 2.13 reads nothing else.
std::string dump_document(const Json& value);

}  // namespace zarrfs
