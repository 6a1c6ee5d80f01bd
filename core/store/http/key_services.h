// What the searches for credentials of all clouds share: files of keys, and services that give keys
// and tokens. Secrets never get into messages. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/store/http/credentials.h"
#include "core/store/http/http.h"

namespace zarrfs {

/// Seconds since 1970.
std::int64_t present_time();

/// `text` without the white space around it.
std::string stripped(std::string_view text);

/// What a file holds, of which nothing beyond the first MiB counts; nothing where it cannot be
/// read.
std::optional<std::string> read_key_file(const std::string& path);

/// A member that is a text; empty where there is none.
std::string member_text(const Json& json, const char* name);

/// A question to a service, which answers with little.
HttpRequest service_request(std::string url);
/// With fields as a form has them.
HttpRequest form_request(std::string url, const HeaderList& fields);

struct ServiceAnswer {
  int status = 0;
  std::string text;
};
/// kDenied, naming the service as `what`, where it cannot be reached. Ends with the request that
/// this thread works for (core/base/request.h).
Result<ServiceAnswer> ask_service(HttpClient& http, HttpRequest request, const std::string& what);
/// The text of an answer with status 200; kDenied where there is another one.
Result<std::string> fetch_from(HttpClient& http, HttpRequest request, const std::string& what);

/// kDenied, naming `setting`, where `url` is neither https nor of this machine: secrets would be
/// read on their way.
Result<void> check_private(const std::string& url, const std::string& setting);

/// The token of an answer of OAuth 2 ("access_token", "expires_in"); nothing where it has none.
std::optional<Credentials> token_in(const std::string& answer, const std::string& origin);

}  // namespace zarrfs
