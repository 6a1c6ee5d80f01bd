// The headers of an answer: read line by line, names without case; and what they say about an
// object and a range of it. Everything in them is untrusted. Source: RFC 9110. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// Names in lower case. Of a header that comes twice, the first counts.
class Headers {
 public:
  /// Takes one line as it came, with or without its end. Malformed lines are skipped, and so is
  /// what would be more than 64 KiB. A status line begins a new answer.
  void add_line(std::string_view line);
  [[nodiscard]] std::optional<std::string> find(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
};

/// A whole number without sign and nothing else around it.
std::optional<std::uint64_t> parse_whole_number(std::string_view text);

/// `Content-Range: bytes 0-9/100`, and of a 416 `bytes */100`.
struct ContentRange {
  std::optional<ByteRange> range;     ///< Not empty, and within the size where that is told.
  std::optional<std::uint64_t> size;  ///< Of the whole object.
};
std::optional<ContentRange> parse_content_range(std::string_view text);

/// "Sun, 06 Nov 1994 08:49:37 GMT": seconds since 1970.
std::optional<std::int64_t> parse_http_date(const std::string& text);
/// By how many seconds the clock of the server is ahead; nothing where it does not tell its time.
std::optional<std::int64_t> clock_ahead(const Headers& headers);
/// "Sun, 06 Nov 1994 08:49:37 GMT", of seconds since 1970.
std::string http_date(std::int64_t seconds);

/// Which bytes stand under a name: equal tags, equal bytes.
struct Version {
  std::string tag;    ///< An ETag as it came, or "modified " and a date; empty where nothing tells.
  bool weak = false;  ///< Fit for noticing a change, not for If-Match.
  bool operator==(const Version&) const = default;
};
/// What an object is compressed with ("gzip"): by Content-Encoding, or at Google, which unpacks it
/// on its way. Neither its size nor its ranges are those of what is stored. Empty: with nothing.
std::string encoding_of(const Headers& headers);
/// An ETag that no object has.
inline constexpr const char* kTagOfNone = "\"00000000000000000000000000000000\"";
Version version_of(const Headers& headers);
/// A whole number, that counts the versions of an object at Google; empty where there is none.
std::string generation_of(const Headers& headers);

}  // namespace zarrfs
