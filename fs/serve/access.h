// Who may ask: which pages of a browser, by which names of this machine, and with which token.
// Thread-safe: nothing changes after construction. Source: Fetch standard (CORS), RFC 6750 (bearer
// tokens), RFC 9110 section 15.5.20 (421).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/serve/http_values.h"
#include "fs/serve/message.h"

namespace zarrfs {

struct AccessRules {
  /// Origins ("https://host") whose pages may read what is served; "*": all. Those of this machine
  /// may always.
  std::vector<std::string> origins = known_viewers();
  /// Names, besides localhost and addresses, by which clients may know this server.
  std::vector<std::string> hosts;
  std::string token;  ///< Empty: none is asked for.

  static std::vector<std::string> known_viewers();
};

class Access {
 public:
  explicit Access(AccessRules rules) : rules_(std::move(rules)) {}

  /// The answer where the request goes no further: a refusal, or to what a browser asks first.
  [[nodiscard]] std::optional<Answer> stop(const Request& request, const Target& target) const;
  /// Tells the browser what the page that asked may read; after a token in the query, the browser
  /// keeps it for the links of pages.
  void mark(Answer& answer, const Request& request, const Target& target) const;
  [[nodiscard]] bool asks_for_token() const { return !rules_.token.empty(); }

 private:
  [[nodiscard]] bool knows_host(const Request& request, const Target& target) const;
  [[nodiscard]] bool knows_origin(std::string_view origin) const;
  [[nodiscard]] bool has_token(const Request& request, const Target& target) const;
  [[nodiscard]] bool is_token(std::string_view given) const;

  const AccessRules rules_;
};

}  // namespace zarrfs
