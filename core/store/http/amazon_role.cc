// Keys of a role, from Amazon's token service (STS).
#include <utility>

#include "core/base/printable.h"
#include "core/store/http/amazon_chains.h"
#include "core/store/http/headers.h"
#include "core/store/http/key_services.h"
#include "core/store/http/listing.h"
#include "core/store/http/signer.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr const char* kTokenService = "the token service (STS)";
constexpr const char* kTokenServiceVersion = "2011-06-15";
constexpr const char* kEndpointOfSts = "AWS_ENDPOINT_URL_STS";

/// The text of the first element `name`: STS answers with a flat list of them.
std::string element(const std::string& xml, const std::string& name) {
  const std::size_t begin = xml.find("<" + name + ">");
  if (begin == std::string::npos) return "";
  const std::size_t first = begin + name.size() + 2;
  const std::size_t end = xml.find("</" + name + ">", first);
  return end == std::string::npos ? "" : xml.substr(first, end - first);
}

Result<std::string> service_of(const Environment& environment, const std::string& region) {
  const char* const domain = region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  std::string url = environment(kEndpointOfSts).value_or("https://sts." + region + domain);
  while (url.ends_with('/')) url.pop_back();
  ZARRFS_CHECK(check_private(url, kEndpointOfSts));
  return url;
}

HttpRequest role_request(const std::string& url, const std::string& action, const AssumedRole& role,
                         const std::string& token) {
  HeaderList fields{{"Action", action},
                    {"Version", kTokenServiceVersion},
                    {"RoleArn", role.arn},
                    {"RoleSessionName", role.session}};
  if (!role.external_id.empty()) fields.emplace_back("ExternalId", role.external_id);
  if (!role.duration.empty()) fields.emplace_back("DurationSeconds", role.duration);
  if (!token.empty()) fields.emplace_back("WebIdentityToken", token);
  return form_request(url + "/", fields);
}

Result<void> sign(HttpRequest& request, const AccessKey& key, const std::string& region) {
  ZARRFS_TRY(const Url url, parse_url(request.url));
  const std::string date = amazon_date(present_time());
  request.headers.emplace_back("x-amz-date", date);
  if (!key.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", key.session_token);
  }
  const std::string path = url.path.empty() ? "/" : url.path + "/";
  Signable signable{request.method, path, "", request.headers, request.body->hash()};
  signable.headers.emplace_back("host", url.authority);
  request.headers.emplace_back("Authorization",
                               authorization(signable, key, {region, "sts"}, date));
  return {};
}

Result<Credentials> keys_from(HttpClient& http, HttpRequest request, const AssumedRole& role) {
  ZARRFS_TRY(const ServiceAnswer answer, ask_service(http, std::move(request), kTokenService));
  if (answer.status != 200) {
    const ServiceError error{element(answer.text, "Code"), element(answer.text, "Message"), ""};
    return fail(Fault::kDenied, std::string(kTokenService) + " does not give " + role.origin +
                                    ": status " + std::to_string(answer.status) + " " +
                                    printable(error.code + ": " + error.message, 400));
  }
  Credentials found{
      .key = {element(answer.text, "AccessKeyId"), element(answer.text, "SecretAccessKey"),
              element(answer.text, "SessionToken")},
      .expires = parse_iso_time(element(answer.text, "Expiration")),
      .origin = role.origin};
  if (!found.key.id.empty() && !found.key.secret.empty()) return found;
  return fail(Fault::kDenied, std::string(kTokenService) + " answers without a key");
}

}  // namespace

std::string token_service_region(const Environment& environment,
                                 const std::optional<std::string>& of_profile) {
  if (const auto region = environment("AWS_REGION")) return *region;
  return environment("AWS_DEFAULT_REGION").value_or(of_profile.value_or("us-east-1"));
}

Result<AssumedRole> role_in(const Environment& environment, const Sections& sections,
                            const std::string& profile) {
  const auto setting = [&](const char* name) { return setting_in(sections, profile, name); };
  const std::string name = "profile \"" + profile + "\"";
  AssumedRole role{.arn = setting("role_arn").value_or(""),
                   .session = setting("role_session_name").value_or("zarrfs"),
                   .external_id = setting("external_id").value_or(""),
                   .duration = setting("duration_seconds").value_or(""),
                   .region = token_service_region(environment, setting("region")),
                   .origin = "the role of " + name};
  if (setting("mfa_serial")) {
    return fail(Fault::kDenied,
                name +
                    " has mfa_serial, and nobody is there to type a code: give it "
                    "credential_process, for example \"aws configure export-credentials "
                    "--profile " +
                    profile + "\"");
  }
  if (role.duration.empty() || parse_whole_number(role.duration)) return role;
  return fail(Fault::kDenied,
              name + ": duration_seconds is no number: " + printable(role.duration));
}

Result<Credentials> assume_role(HttpClient& http, const Environment& environment,
                                const AssumedRole& role, const Credentials& by) {
  ZARRFS_TRY(const std::string url, service_of(environment, role.region));
  HttpRequest request = role_request(url, "AssumeRole", role, "");
  ZARRFS_CHECK(sign(request, by.key, role.region));
  return keys_from(http, std::move(request), role);
}

Result<Credentials> assume_role_by_token(HttpClient& http, const Environment& environment,
                                         const AssumedRole& role, const std::string& file) {
  const auto token = read_key_file(file);
  if (!token) {
    return fail(Fault::kDenied, file + ", the token of a web identity, cannot be read");
  }
  ZARRFS_TRY(const std::string url, service_of(environment, role.region));
  return keys_from(http, role_request(url, "AssumeRoleWithWebIdentity", role, stripped(*token)),
                   role);
}

}  // namespace zarrfs
