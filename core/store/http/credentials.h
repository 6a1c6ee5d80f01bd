// Where keys for signing requests to S3 are found, which is where Amazon's own tools look for them.
// Secrets never get into messages. Source: AWS SDKs and Tools reference ("Standardized credential
// providers"). Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/store/http/http.h"
#include "core/store/http/signer.h"

namespace zarrfs {

/// The value of an environment variable; nothing where it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

/// A file of sections ("[default]", "[profile a]") with "name = value" lines: section -> name ->
/// value. Malformed lines are skipped; names are in lower case. Never an error: untrusted.
using Sections = std::map<std::string, std::map<std::string, std::string>>;
Sections parse_sections(std::string_view text);

struct Credentials {
  AccessKey key = {};      ///< Empty where there is a token.
  std::string token = {};  ///< "Authorization: Bearer"; empty where there is a key.
  std::optional<std::int64_t> expires = {};  ///< Seconds since 1970.
  std::string origin = {};                   ///< Where they are from, for messages.
};

/// The JSON that container, machine and credential_process services answer. kInvalid without key.
Result<Credentials> parse_credentials(std::string_view json, const std::string& from);

/// "2026-11-22T12:20:00Z": seconds since 1970.
std::optional<std::int64_t> parse_iso_time(const std::string& text);

/// Looks for keys. The files of ~/.aws are read anew each time.
class CredentialSource {
 public:
  /// `profile`: of ~/.aws; empty: AWS_PROFILE or "default". The client outlives this.
  CredentialSource(HttpClient& http, Environment environment, std::string profile);

  /// kDenied, saying where it looked, where there are none. Ends with the request that this thread
  /// works for (core/base/request.h).
  [[nodiscard]] Result<Credentials> find() const;
  /// A setting of the profile ("region", "endpoint_url").
  [[nodiscard]] std::optional<std::string> setting(const std::string& name) const;

 private:
  using Found = std::optional<Credentials>;
  [[nodiscard]] Found from_environment() const;
  [[nodiscard]] Result<Found> from_web_identity() const;
  [[nodiscard]] Result<Found> from_profile(const Sections& sections, const std::string& profile,
                                           std::vector<std::string> asked) const;
  [[nodiscard]] Result<Found> from_role(const Sections& sections, const std::string& profile,
                                        std::vector<std::string> asked) const;
  [[nodiscard]] Result<Credentials> from_source(const Sections& sections,
                                                const std::string& profile,
                                                const std::vector<std::string>& asked) const;
  [[nodiscard]] Result<Found> from_container() const;
  [[nodiscard]] Result<Found> from_machine() const;

  HttpClient& http_;
  const Environment environment_;
  const bool profile_was_named_;
  const std::string profile_;
};

}  // namespace zarrfs
