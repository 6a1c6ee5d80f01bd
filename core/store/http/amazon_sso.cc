// Keys of a person who has logged in by `aws sso login`: the token that it left is given to the
// portal, which answers with the keys of a role.
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/store/http/amazon_chains.h"
#include "core/store/http/key_services.h"
#include "core/store/http/signer.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr const char* kEndpointOfPortal = "AWS_ENDPOINT_URL_SSO";
constexpr std::int64_t kMilliseconds = 1000;

/// What a profile says of its login; a member may be missing.
struct Login {
  std::string profile;
  std::string session{};  ///< Empty: the form before sessions.
  std::string start_url{};
  std::string region{};
  std::string account{};
  std::string role{};

  [[nodiscard]] std::string anew() const {
    return session.empty() ? "aws sso login --profile " + profile
                           : "aws sso login --sso-session " + session;
  }
};

Result<Login> login_of(const Sections& sections, const std::string& profile) {
  const auto in_profile = [&](const char* name) {
    return setting_in(sections, profile, name).value_or("");
  };
  Login login{.profile = profile, .session = in_profile("sso_session")};
  const std::string section = login.session.empty() ? profile : "sso-session " + login.session;
  const auto of_login = [&](const char* name) {
    return setting_in(sections, section, name).value_or("");
  };
  login.start_url = of_login("sso_start_url");
  login.region = of_login("sso_region");
  login.account = in_profile("sso_account_id");
  login.role = in_profile("sso_role_name");
  const std::pair<const char*, const std::string*> needed[] = {{"sso_start_url", &login.start_url},
                                                               {"sso_region", &login.region},
                                                               {"sso_account_id", &login.account},
                                                               {"sso_role_name", &login.role}};
  for (const auto& [name, value] : needed) {
    if (!value->empty()) continue;
    return fail(Fault::kDenied, "profile \"" + profile + "\" of ~/.aws has no " + name +
                                    (login.session.empty()
                                         ? std::string()
                                         : " (it is looked for in the profile, and of the login in "
                                           "[" +
                                               section + "])"));
  }
  return login;
}

/// The token that the last login left, as long as it is good.
Result<std::string> token_of(const Environment& environment, const Login& login) {
  const std::string name = sha1_hex(login.session.empty() ? login.start_url : login.session);
  const std::string file =
      environment("HOME").value_or("/root") + "/.aws/sso/cache/" + name + ".json";
  const auto text = read_key_file(file);
  const auto json = text ? parse_json(*text, file) : fail(Fault::kDenied, "");
  const std::string token = json && json->is_object() ? member_text(*json, "accessToken") : "";
  const std::string who = "profile \"" + login.profile + "\"";
  if (token.empty()) {
    return fail(Fault::kDenied,
                who + ": nobody has logged in (no token in " + file + "): " + login.anew());
  }
  const auto expires = parse_iso_time(member_text(*json, "expiresAt"));
  if (!expires || *expires > present_time()) return token;
  return fail(Fault::kDenied, who + ": the login has expired: " + login.anew());
}

Result<std::string> portal_of(const Environment& environment, const Login& login) {
  std::string url = environment(kEndpointOfPortal)
                        .value_or("https://portal.sso." + login.region + ".amazonaws.com");
  while (url.ends_with('/')) url.pop_back();
  ZARRFS_CHECK(check_private(url, kEndpointOfPortal));
  return url;
}

Result<Credentials> keys_in(const std::string& answer, const Login& login) {
  const auto json = parse_json(answer, "the portal's answer");
  const bool told = json && json->is_object() && json->contains("roleCredentials") &&
                    json->at("roleCredentials").is_object();
  const Json keys = told ? json->at("roleCredentials") : Json::object();
  Credentials found{.key = {member_text(keys, "accessKeyId"), member_text(keys, "secretAccessKey"),
                            member_text(keys, "sessionToken")},
                    .origin = "profile \"" + login.profile + "\" of ~/.aws (SSO)"};
  if (found.key.id.empty() || found.key.secret.empty()) {
    return fail(Fault::kDenied, "the portal (SSO) answers without a key");
  }
  const auto ends = keys.find("expiration");
  if (ends != keys.end() && ends->is_number_integer()) {
    found.expires = ends->get<std::int64_t>() / kMilliseconds;
  }
  return found;
}

}  // namespace

Result<Credentials> sso_credentials(HttpClient& http, const Environment& environment,
                                    const Sections& sections, const std::string& profile) {
  ZARRFS_TRY(const Login login, login_of(sections, profile));
  ZARRFS_TRY(const std::string token, token_of(environment, login));
  ZARRFS_TRY(const std::string portal, portal_of(environment, login));
  HttpRequest request = service_request(
      portal + "/federation/credentials?role_name=" + percent_encode(login.role, false) +
      "&account_id=" + percent_encode(login.account, false));
  request.headers.emplace_back("x-amz-sso_bearer_token", token);
  ZARRFS_TRY(const ServiceAnswer answer, ask_service(http, std::move(request), "the portal (SSO)"));
  if (answer.status == 200) return keys_in(answer.text, login);
  const std::string who = "profile \"" + profile + "\"";
  if (answer.status == 401) {
    return fail(Fault::kDenied, who + ": the login has expired: " + login.anew());
  }
  const auto json = parse_json(answer.text, "the portal's answer");
  const std::string message = json && json->is_object() ? member_text(*json, "message") : "";
  return fail(Fault::kDenied, who + ": the portal (SSO) does not give the role " + login.role +
                                  " of account " + login.account + ": status " +
                                  std::to_string(answer.status) + " " + printable(message));
}

}  // namespace zarrfs
