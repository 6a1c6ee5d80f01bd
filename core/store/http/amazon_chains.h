// Keys that Amazon's services give for others: of a role (STS), and of a person who has logged in
// (IAM Identity Center, "SSO"). Source: AWS SDKs and Tools reference, "Assume role credential
// provider" and "IAM Identity Center credential provider". Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/store/http/credentials.h"

namespace zarrfs {

/// A setting of a profile; nothing where it is not set.
std::optional<std::string> setting_in(const Sections& sections, const std::string& profile,
                                      const std::string& name);

struct AssumedRole {
  std::string arn;
  std::string session;           ///< A name that the service's log shows.
  std::string external_id = {};  ///< Empty: none is sent; so is `duration`.
  std::string duration = {};     ///< Seconds.
  std::string region = {};       ///< Whose service is asked.
  std::string origin = {};       ///< For messages.
};

/// The region whose token service is asked, of the environment or of a profile.
std::string token_service_region(const Environment& environment,
                                 const std::optional<std::string>& of_profile);

/// The role that a profile names; kDenied where what it says of it cannot be sent.
Result<AssumedRole> role_in(const Environment& environment, const Sections& sections,
                            const std::string& profile);

/// AssumeRole, signed with the keys `by`; AWS_ENDPOINT_URL_STS names another service.
Result<Credentials> assume_role(HttpClient& http, const Environment& environment,
                                const AssumedRole& role, const Credentials& by);
/// AssumeRoleWithWebIdentity, with the token that `file` holds.
Result<Credentials> assume_role_by_token(HttpClient& http, const Environment& environment,
                                         const AssumedRole& role, const std::string& file);

/// With the token that `aws sso login` left for a profile that has sso_session or sso_start_url;
/// AWS_ENDPOINT_URL_SSO names another portal. kDenied, saying so, where one has to log in.
Result<Credentials> sso_credentials(HttpClient& http, const Environment& environment,
                                    const Sections& sections, const std::string& profile);

}  // namespace zarrfs
