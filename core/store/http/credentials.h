// Keys for signing requests to S3, from where Amazon's own tools look for them, and tokens for
// Google's. Secrets never get into messages. Source: AWS SDKs and Tools reference ("Standardized
// credential providers"). Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/http/http.h"
#include "core/store/http/signer.h"

namespace zarrfs {

/// The value of an environment variable; nothing where it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

/// A file of sections ("[default]", "[profile a]") with "name = value" lines: section -> name ->
/// value. Lines that are neither are left out; names are in lower case. Never an error: untrusted.
using Sections = std::map<std::string, std::map<std::string, std::string>>;
Sections parse_sections(std::string_view text);

struct Credentials {
  AccessKey key;
  std::optional<std::int64_t> expires;  ///< Seconds since 1970.
  std::string origin = {};              ///< Where they are from, for messages.
};

/// The JSON that container, machine and credential_process services answer. kInvalid without key.
Result<Credentials> parse_credentials(std::string_view json, const std::string& from);

/// "2026-11-22T12:20:00Z": seconds since 1970.
std::optional<std::int64_t> parse_iso_time(const std::string& text);

/// Keys that are good now: got when they are first needed, and anew 5 minutes before they expire.
class CredentialSource {
 public:
  /// `profile`: of ~/.aws; empty: AWS_PROFILE or "default". The client outlives this.
  CredentialSource(HttpClient& http, Environment environment, std::string profile);

  /// kDenied, saying where it looked, where there are none.
  Result<AccessKey> get();
  /// The words for where the keys are from that get() gives.
  Result<std::string> origin();
  /// A server said that they are not good any more.
  void expire();
  /// A setting of the profile ("region", "endpoint_url").
  [[nodiscard]] std::optional<std::string> setting(const std::string& name) const;

 private:
  using Found = std::optional<Credentials>;
  Result<Credentials> find();
  [[nodiscard]] Found from_environment() const;
  Result<Found> from_web_identity();
  Result<Found> from_profile();
  Result<Found> from_container();
  Result<Found> from_machine();
  Result<std::string> fetch(HttpRequest request, const std::string& what);

  HttpClient& http_;
  const Environment environment_;
  std::string profile_;
  bool profile_was_named_;
  Sections sections_;
  RankedMutex<LockRank::kStore> mutex_;
  std::optional<Credentials> current_ ZARRFS_GUARDED_BY(mutex_);
};

/// A token for Google's storage ("Authorization: Bearer"): from GOOGLE_OAUTH_ACCESS_TOKEN, the file
/// named by CLOUDSDK_AUTH_ACCESS_TOKEN_FILE (read anew each 5 minutes), or the machine's service
/// account.
class TokenSource {
 public:
  TokenSource(HttpClient& http, Environment environment)
      : http_(http), environment_(std::move(environment)) {}
  Result<std::string> get();
  /// The words for where the token is from that get() gives.
  Result<std::string> origin();
  void expire();

 private:
  struct Token {
    std::string text;
    std::int64_t expires = 0;
    std::string origin = {};
  };
  Result<Token> find();
  HttpClient& http_;
  const Environment environment_;
  RankedMutex<LockRank::kStore> mutex_;
  std::optional<Token> current_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
