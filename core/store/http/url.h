// URLs of remote stores: taken apart, and keys made into paths. Source: RFC 3986. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace zarrfs {

/// A URL of a server, as it is sent: nothing is decoded.
struct Url {
  std::string scheme;     ///< Lower case: "https".
  std::string authority;  ///< "host", "host:port" or "[::1]:port"; a bucket's name for s3 and gs.
  std::string path;       ///< From the first slash, without trailing slashes; may be empty.
  std::string query;      ///< Behind "?"; may be empty.

  /// The host alone, without port and brackets.
  [[nodiscard]] std::string host() const;
  /// Without the query: what messages may show.
  [[nodiscard]] std::string text() const;
};

/// kInvalid, naming what is wrong: no host, a user name or password (which programs that list
/// processes would see), a fragment, a control character.
Result<Url> parse_url(const std::string& text);

/// `text` with every byte but letters, digits, "-", "_", "." and "~" as %XX, in upper case; slashes
/// stay where `keep_slashes`.
std::string percent_encode(std::string_view text, bool keep_slashes);

/// The other way; nothing where a "%" is not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace zarrfs
