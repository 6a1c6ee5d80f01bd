// The values of HTTP's fields, read and written. Pure functions; thread-safe. All that is read was
// sent by anybody. Source: RFC 9110 (conditions, ranges), RFC 3986 (targets).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// What is asked for.
struct Target {
  std::vector<std::string> names;  ///< Components of the path, decoded; never "", "." or "..".
  bool directory = false;          ///< The path ends with a slash.
  std::string authority;           ///< Of a whole URL: its host and port.
  std::string query;               ///< As it was sent, without "?".

  /// The value of the query's member `name`, decoded; empty where there is none.
  [[nodiscard]] std::string member(std::string_view name) const;
};

/// Of "/a/b%20c/?x=y", or of the whole URL that a proxy is asked for. kInvalid: no path, a bad
/// "%XX", a component that no file can have ("..", a NUL byte, an encoded slash).
Result<Target> parse_target(std::string_view text);

/// Whether `list`, the value of If-None-Match or If-Match, names `tag` ("*": any). `weak`: a tag
/// that is marked weak counts.
bool names_tag(std::string_view list, std::string_view tag, bool weak);

/// Whether `list`, the value of an Accept-Encoding or Accept field, names `wanted` (in lower case)
/// other than with the weight 0. Only names that are spelled out count, no "*".
bool accepts(std::string_view list, std::string_view wanted);

struct RangeAsked {
  enum class Kind { kWhole, kPart, kUnsatisfiable };
  Kind kind = Kind::kWhole;
  ByteRange part;
};
/// What the value of a Range field asks for of `size` bytes. Several ranges, and what is no range
/// of bytes, are the whole, as the standard allows.
RangeAsked parse_range(std::string_view text, std::uint64_t size);

/// http_date(), which remembers the last one: answers of a moment, and of a shard, have the same.
/// For one thread.
class LastDate {
 public:
  const std::string& of(std::int64_t seconds);

 private:
  std::int64_t seconds_ = 0;
  std::string text_;  ///< Empty at first.
};

/// Text within HTML, and within the value of an attribute.
std::string html_escape(std::string_view text);

}  // namespace zarrfs
