#include "core/store/http/credentials.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "core/store/http/command_output.h"
#include "core/store/http/listing.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr std::int64_t kUntoldLife = 600;  // seconds
constexpr std::int64_t kLongestLife = std::int64_t{1} << 30U;
constexpr std::size_t kMostText = std::size_t{1} << 20U;
constexpr std::chrono::seconds kPatience{30};
constexpr const char* kMachineService = "http://169.254.169.254";

std::string stripped(std::string_view text) {
  const auto blank = [](unsigned char letter) { return std::isspace(letter) != 0; };
  while (!text.empty() && blank(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && blank(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < kMostText && (file.read(part.data(), part.size()), file.gcount() > 0)) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

/// Sections of ~/.aws/credentials, and those of ~/.aws/config, which call theirs "profile a".
Sections read_profiles(const Environment& environment) {
  const std::string home = environment("HOME").value_or("/root");
  const auto path_of = [&](const char* variable, const char* name) {
    return environment(variable).value_or(home + "/.aws/" + name);
  };
  Sections all =
      parse_sections(read_file(path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials")).value_or(""));
  for (auto& [name, values] :
       parse_sections(read_file(path_of("AWS_CONFIG_FILE", "config")).value_or(""))) {
    constexpr std::string_view kPrefix = "profile ";
    const std::string profile = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
    all[profile].insert(values.begin(), values.end());
  }
  return all;
}

std::string text_member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

HttpRequest small_request(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  request.part_limit = kMostText;
  request.whole_limit = kMostText;
  return request;
}

/// The text of the first element `name`: STS answers with a flat list of them.
std::string element(const std::string& xml, const std::string& name) {
  const std::size_t begin = xml.find("<" + name + ">");
  if (begin == std::string::npos) return "";
  const std::size_t first = begin + name.size() + 2;
  const std::size_t end = xml.find("</" + name + ">", first);
  return end == std::string::npos ? "" : xml.substr(first, end - first);
}

std::int64_t now() { return static_cast<std::int64_t>(::time(nullptr)); }

std::optional<std::string> setting_in(const Sections& sections, const std::string& profile,
                                      const std::string& name) {
  const auto section = sections.find(profile);
  if (section == sections.end()) return std::nullopt;
  const auto found = section->second.find(name);
  if (found == section->second.end()) return std::nullopt;
  return found->second;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

Sections parse_sections(std::string_view text) {
  Sections sections;
  std::map<std::string, std::string>* current = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string line = stripped(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      const std::size_t close = line.find(']');
      current =
          close == std::string::npos ? nullptr : &sections[stripped(line.substr(1, close - 1))];
      continue;
    }
    // Indented lines belong to nested settings, which mean nothing here.
    const bool nested = std::isspace(static_cast<unsigned char>(raw[0])) != 0;
    const std::size_t equals = line.find('=');
    if (current == nullptr || nested || equals == std::string::npos) continue;
    (*current)[lower_case(stripped(line.substr(0, equals)))] = stripped(line.substr(equals + 1));
  }
  return sections;
}

std::optional<std::int64_t> parse_iso_time(const std::string& text) {
  struct tm parts {};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&parts));
}

Result<Credentials> parse_credentials(std::string_view json, const std::string& from) {
  auto parsed = parse_json(std::string(json), from);
  if (!parsed || !parsed->is_object()) {
    return fail(Fault::kInvalid, from + " does not answer with a JSON object");
  }
  Credentials found;
  found.key.id = text_member(*parsed, "AccessKeyId");
  found.key.secret = text_member(*parsed, "SecretAccessKey");
  found.key.session_token = text_member(*parsed, "SessionToken");
  if (found.key.session_token.empty()) found.key.session_token = text_member(*parsed, "Token");
  if (found.key.id.empty() || found.key.secret.empty()) {
    return fail(Fault::kInvalid, from + " answers without AccessKeyId or SecretAccessKey");
  }
  found.expires = parse_iso_time(text_member(*parsed, "Expiration"));
  return found;
}

CredentialSource::CredentialSource(HttpClient& http, Environment environment, std::string profile)
    : http_(http),
      environment_(std::move(environment)),
      profile_was_named_(!profile.empty()),
      profile_(profile_was_named_ ? std::move(profile)
                                  : environment_("AWS_PROFILE").value_or("default")) {}

std::optional<std::string> CredentialSource::setting(const std::string& name) const {
  return setting_in(read_profiles(environment_), profile_, name);
}

Result<Credentials> CredentialSource::find() const {
  // A profile that was named goes before the environment.
  if (!profile_was_named_) {
    if (auto found = from_environment()) return std::move(*found);
    ZARRFS_TRY(auto web, from_web_identity());
    if (web) return std::move(*web);
  }
  const Sections sections = read_profiles(environment_);
  ZARRFS_TRY(auto of_profile, from_profile(sections));
  if (of_profile) return std::move(*of_profile);
  if (profile_was_named_ && !sections.contains(profile_)) {
    return fail(Fault::kDenied, "there is no profile \"" + profile_ + "\" in ~/.aws");
  }
  ZARRFS_TRY(auto container, from_container());
  if (container) return std::move(*container);
  ZARRFS_TRY(auto machine, from_machine());
  if (machine) return std::move(*machine);
  return fail(Fault::kDenied,
              "no credentials: not in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in profile "
              "\"" +
                  profile_ +
                  "\" of ~/.aws/credentials, and not of the machine; -o anonymous reads what is "
                  "public");
}

std::optional<Credentials> CredentialSource::from_environment() const {
  const auto id = environment_("AWS_ACCESS_KEY_ID");
  const auto secret = environment_("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret) return std::nullopt;
  return Credentials{.key = {*id, *secret, environment_("AWS_SESSION_TOKEN").value_or("")},
                     .origin = "the environment (AWS_ACCESS_KEY_ID)"};
}

Result<std::string> CredentialSource::fetch(HttpRequest request, const std::string& what) const {
  std::vector<HttpRequest> requests;
  requests.push_back(std::move(request));
  const auto answers = http_.perform(std::move(requests));
  const HttpAnswer& answer = answers.front();
  if (!answer) return fail(Fault::kDenied, what + " cannot be reached: " + answer.error().message);
  if (answer->status != 200) {
    return fail(Fault::kDenied, what + " answers with " + std::to_string(answer->status));
  }
  return std::string(answer->text());
}

Result<std::optional<Credentials>> CredentialSource::from_web_identity() const {
  const auto file = environment_("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = environment_("AWS_ROLE_ARN");
  if (!file || !role) return std::nullopt;
  const auto token = read_file(*file);
  if (!token) return fail(Fault::kDenied, *file + " (AWS_WEB_IDENTITY_TOKEN_FILE) cannot be read");
  const std::string region = environment_("AWS_REGION").value_or("us-east-1");
  const std::string base =
      environment_("AWS_ENDPOINT_URL_STS").value_or("https://sts." + region + ".amazonaws.com");
  const std::string session = environment_("AWS_ROLE_SESSION_NAME").value_or("zarrfs");
  HttpRequest request = small_request(
      base + "/?Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" +
      percent_encode(*role, false) + "&RoleSessionName=" + percent_encode(session, false) +
      "&WebIdentityToken=" + percent_encode(stripped(*token), false));
  ZARRFS_TRY(const std::string xml, fetch(std::move(request), "the token service (STS)"));
  Credentials found;
  found.key = {element(xml, "AccessKeyId"), element(xml, "SecretAccessKey"),
               element(xml, "SessionToken")};
  found.expires = parse_iso_time(element(xml, "Expiration"));
  if (found.key.id.empty() || found.key.secret.empty()) {
    return fail(Fault::kDenied, "the token service (STS) answers without a key");
  }
  found.origin = "a web identity (AWS_WEB_IDENTITY_TOKEN_FILE)";
  return found;
}

Result<std::optional<Credentials>> CredentialSource::from_profile(const Sections& sections) const {
  const auto setting = [&](const char* name) { return setting_in(sections, profile_, name); };
  const auto id = setting("aws_access_key_id");
  const auto secret = setting("aws_secret_access_key");
  if (id && secret) {
    return Credentials{.key = {*id, *secret, setting("aws_session_token").value_or("")},
                       .origin = "profile \"" + profile_ + "\" of ~/.aws"};
  }
  if (const auto command = setting("credential_process")) {
    const std::string name = "credential_process of profile \"" + profile_ + "\"";
    ZARRFS_TRY(const std::string json, command_output(*command, name, kPatience));
    ZARRFS_TRY(Credentials found, parse_credentials(json, name));
    found.origin = name;
    return found;
  }
  for (const char* unknown : {"role_arn", "sso_session", "sso_start_url"}) {
    if (!setting(unknown)) continue;
    return fail(Fault::kUnsupported, "profile \"" + profile_ + "\" has " + unknown +
                                         ", which zarrfs does not know; give it "
                                         "credential_process, for example \"aws configure "
                                         "export-credentials --profile " +
                                         profile_ + "\"");
  }
  return std::nullopt;
}

Result<std::optional<Credentials>> CredentialSource::from_container() const {
  std::optional<std::string> url = environment_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const auto path = environment_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    url = "http://169.254.170.2" + *path;
  }
  if (!url) return std::nullopt;
  HttpRequest request = small_request(*url);
  std::optional<std::string> token = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    token = read_file(*file);
  }
  if (token) request.headers.emplace_back("Authorization", stripped(*token));
  ZARRFS_TRY(const std::string json, fetch(std::move(request), "the container's credentials"));
  ZARRFS_TRY(Credentials found, parse_credentials(json, "the container's credentials"));
  found.origin = "the container";
  return found;
}

Result<std::optional<Credentials>> CredentialSource::from_machine() const {
  if (environment_("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  const std::string base =
      environment_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(kMachineService);
  HttpRequest ask = small_request(base + "/latest/api/token");
  ask.method = "PUT";
  ask.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds", "21600");
  const auto token = fetch(std::move(ask), "the machine's credentials");
  if (!token) return std::nullopt;  // not a machine of Amazon's
  const auto with_token = [&](const std::string& path) {
    HttpRequest request = small_request(base + path);
    request.headers.emplace_back("X-aws-ec2-metadata-token", stripped(*token));
    return fetch(std::move(request), "the machine's credentials");
  };
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  const auto role = with_token(roles);
  if (!role) return std::nullopt;  // it has no role
  ZARRFS_TRY(const std::string json,
             with_token(roles + stripped(std::string_view(*role).substr(0, role->find('\n')))));
  ZARRFS_TRY(Credentials found, parse_credentials(json, "the machine's credentials"));
  found.origin = "the machine's role";
  return found;
}

Result<Credentials> find_google_token(HttpClient& http, const Environment& environment) {
  if (const auto token = environment("GOOGLE_OAUTH_ACCESS_TOKEN")) {
    return Credentials{
        .key = {}, .token = *token, .origin = "the environment (GOOGLE_OAUTH_ACCESS_TOKEN)"};
  }
  if (const auto file = environment("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE")) {
    const auto text = read_file(*file);
    if (text) {
      return Credentials{.key = {},
                         .token = stripped(*text),
                         .expires = now() + kUntoldLife,
                         .origin = "a file (CLOUDSDK_AUTH_ACCESS_TOKEN_FILE)"};
    }
    return fail(Fault::kDenied, *file + " (CLOUDSDK_AUTH_ACCESS_TOKEN_FILE) cannot be read");
  }
  const std::string host = environment("GCE_METADATA_HOST").value_or("metadata.google.internal");
  HttpRequest request = small_request(
      "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token");
  request.headers.emplace_back("Metadata-Flavor", "Google");
  std::vector<HttpRequest> requests;
  requests.push_back(std::move(request));
  const auto answers = http.perform(std::move(requests));
  const HttpAnswer& answer = answers.front();
  if (answer && answer->status == 200) {
    const auto json = parse_json(std::string(answer->text()), "a token");
    const std::string token = json && json->is_object() ? text_member(*json, "access_token") : "";
    if (!token.empty()) {
      const auto lasts = json->find("expires_in");
      const bool told = lasts != json->end() && lasts->is_number_integer();
      return Credentials{.key = {},
                         .token = token,
                         .expires = now() + (told ? std::clamp(lasts->get<std::int64_t>(),
                                                               std::int64_t{0}, kLongestLife)
                                                  : kUntoldLife),
                         .origin = "the machine's service account"};
    }
  }
  return fail(Fault::kDenied,
              "no credentials: not in GOOGLE_OAUTH_ACCESS_TOKEN, not in the file "
              "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, not in GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, "
              "and not of the machine; -o anonymous reads what is public");
}

}  // namespace zarrfs
